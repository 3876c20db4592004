import { ModelError } from '../../actors/model.ts';
import { type Environment, readVariable } from './environment.ts';

/**
 * Owns: whether models that are really there may be asked in this process.
 *
 * I1 `SIGNALBOX_LIVE=never` forbids whatever the code says; a ban by code is lifted by the code that made it.
 * I2 A permit suspends bans by code, and nothing else.
 * I3 All copies of the package in a process share both: a workspace may hold two.
 */
const GUARD = Symbol.for('signalbox.live-guard');
if (Reflect.get(globalThis, GUARD) === undefined) Reflect.set(globalThis, GUARD, { bans: 0, permits: 0 });
const held: { bans: number; permits: number } = Reflect.get(globalThis, GUARD);

/**
 * Forbids models that are really there, in this process and from now on: a `chatModel`, a preset by name or a discovered
 * model is not connected to, and its run ends as `llm-error` with the code `live-forbidden`. A recording that is being made
 * by `useRecording` is let through. Gives a function that lifts the ban. `SIGNALBOX_LIVE=never` in the environment does the
 * same for every process, recordings included.
 *
 * @example forbidLiveModels(); // in the setup file of the tests
 */
export function forbidLiveModels(): () => void {
  return hold('bans');
}

/** Suspends bans by code until the function that it gives is called. */
export function permitLiveModels(): () => void {
  return hold('permits');
}

/** One more of these, until the function that it gives is called. */
function hold(what: 'bans' | 'permits'): () => void {
  let own = 1;
  held[what] += own;
  return () => {
    held[what] -= own;
    own = 0;
  };
}

/** Throws a `ModelError` (code `live-forbidden`) where live models are forbidden. */
export function refuseIfBanned(model: () => string, env: Environment): void {
  const setting = readVariable(env, 'SIGNALBOX_LIVE') ?? 'allow';
  if (setting === 'allow' && (held.bans === 0 || held.permits > 0)) return;
  throw new ModelError(
    'live-forbidden',
    `The model '${model()}' was not asked: ${reasonOf(setting)}. Use a scripted model or a recording (signalbox/testing).`,
  );
}

function reasonOf(setting: string): string {
  if (setting === 'allow') return 'live models are forbidden here, by forbidLiveModels()';
  if (setting === 'never') return 'SIGNALBOX_LIVE=never forbids live models';
  return `SIGNALBOX_LIVE is '${setting}', and must be 'never' or 'allow'`;
}
