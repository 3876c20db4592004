import { createActor } from 'xstate';
import { callTool } from '../../actors/tool-call/call-tool.ts';
import { leafErrorOf } from '../../actors/leaf.ts';
import type { Effect, Outcome, Perform, PerformIo } from '../../actors/journal.ts';
import { wrongOption } from '../../json/known-options.ts';
import { didYouMean } from '../../json/nearest-name.ts';
import { toJson } from '../../json/to-json.ts';
import { isJsonObject } from '../../json/json.ts';
import type { ToolSpec } from '../../tools/spec.ts';
import { textAt } from '../explore/walk/story.ts';
import type { Draws } from './draws.ts';

/** How often each fault happens where it can: per request, call, append of records, approval or step. */
const RATES = {
  'model.busy': 0.04,
  'model.error': 0.03,
  'model.stall': 0.01,
  'model.cut': 0.02,
  'model.broken-stream': 0.02,
  'model.malformed': 0.12,
  'model.usage': 0.02,
  'model.overflow': 0.025,
  'model.filter': 0.01,
  'tool.throw': 0.05,
  'tool.slow': 0.04,
  'tool.huge': 0.01,
  'tool.type': 0.02,
  'tool.stall': 0.02,
  'tool.late': 0.02,
  'tool.lost': 0.02,
  'mcp.refuse': 0.03,
  'mcp.before': 0.02,
  'mcp.during': 0.04,
  'mcp.after': 0.02,
  'mcp.session': 0.02,
  'mcp.silent': 0.01,
  'mcp.error': 0.02,
  'mcp.list': 0.03,
  'mcp.duplicate': 0.03,
  'journal.full': 0.005,
  'journal.io': 0.005,
  'journal.short': 0.005,
  'journal.lock': 0.003,
  'journal.slow': 0.05,
  'process.crash': 0.03,
  'process.abandon': 0.005,
  'clock.forward': 0.01,
  'clock.backward': 0.01,
  'person.reject': 0.2,
  'person.edit': 0.1,
  'person.late': 0.1,
  'person.twice': 0.1,
  'person.wrong': 0.05,
  'person.always': 0.05,
  'person.expired': 0.05,
  'person.steer': 0.02,
  'person.repeat': 0.02,
  'person.queue': 0.02,
  'person.withdraw': 0.1,
  'outside.cancel': 0.005,
  'outside.expire': 0.003,
  'outside.abandon': 0.003,
  'outside.tools': 0.01,
  'outside.release': 0.01,
  'outside.park': 0.05,
} as const;

/** The name of a fault that a simulation can inject. */
export type FaultName = keyof typeof RATES;

/** How often each fault happens; 0: never. */
export type FaultRates = Readonly<Record<FaultName, number>>;

/** Which faults happen: those of a list at their usual rates, or all with these rates changed (`false`: never). */
export type Faults = readonly FaultName[] | { readonly [Name in FaultName]?: number | boolean };

/** The names of all faults. */
export const FAULT_NAMES: readonly FaultName[] = Object.keys(RATES).filter(isFault);

/** The rates that were asked for. Throws a `TypeError` for a fault that there is not. */
export function ratesOf(faults: Faults | undefined): FaultRates {
  const named: readonly string[] = isNames(faults) ? faults : Object.keys(faults ?? {});
  const unknown = named.find((name) => !isFault(name));
  if (unknown !== undefined)
    throw wrongOption(
      `simulate: there is no fault '${unknown}'.${didYouMean(unknown, FAULT_NAMES)} See docs/simulation.md.`,
    );
  const rateOf = (name: FaultName): number => {
    if (isNames(faults)) return faults.includes(name) ? RATES[name] : 0;
    const asked = faults?.[name];
    return typeof asked === 'number' ? asked : asked === false ? 0 : RATES[name];
  };
  const rates = eachFault(rateOf);
  const wrong = FAULT_NAMES.find((name) => !(rates[name] >= 0 && rates[name] <= 1));
  if (wrong !== undefined)
    throw wrongOption(`simulate: the rate of '${wrong}' must be from 0 to 1, and is ${rates[wrong]}.`);
  return rates;
}

/** A number for each fault. */
export function eachFault(rateOf: (name: FaultName) => number): FaultRates {
  const rates: Record<FaultName, number> = { ...RATES };
  for (const name of FAULT_NAMES) rates[name] = rateOf(name);
  return rates;
}

function isNames(faults: Faults | undefined): faults is readonly FaultName[] {
  return Array.isArray(faults);
}

function isFault(name: string): name is FaultName {
  return Object.hasOwn(RATES, name);
}

/** A larger result is refused, here: what is refused at ten megabytes costs a simulation its speed. */
const LARGEST = 50_000;

/** How a tool goes wrong: what its function does instead of its work. */
const BROKEN = new Map<FaultName, (limitMs: number) => unknown>([
  [
    'tool.throw',
    () => {
      throw Object.assign(new Error('the tool failed (simulated)'), { code: 'E_SIMULATED' });
    },
  ],
  ['tool.huge', () => 'x'.repeat(LARGEST + 1)],
  ['tool.type', () => ({ value: 10n, also: () => undefined })],
  ['tool.stall', () => new Promise(() => undefined)],
  ['tool.late', (limitMs) => new Promise((resolve) => setTimeout(() => resolve('late'), limitMs * 2))],
]);

interface LeafPerformance {
  readonly effect: Effect;
  readonly perform: Perform;
  readonly io: PerformIo;
  readonly spec: ToolSpec | undefined;
}

/** One performance of a leaf, with the fault that was drawn for it, if any. `place` says which, over restarts too. */
export async function performed(
  { effect, perform, io, spec }: LeafPerformance,
  draws: Draws,
  rates: FaultRates,
  place: string,
): Promise<Outcome> {
  if (effect.name !== 'callTool' || !isJsonObject(effect.request)) return perform(io);
  const tool = textAt(effect.request, 'tool');
  const limitMs = spec?.timeoutMs ?? 180_000;
  const is = (name: FaultName, says: string): boolean =>
    draws.happens(name, place, rates[name], `${tool} (${effect.id}): ${says}`);
  for (const [name, work] of BROKEN) {
    if (is(name, name.slice(5))) return brokenCall(effect, { io, limitMs, work: () => work(limitMs) });
  }
  if (is('tool.lost', 'it ran, and its answer was lost')) {
    await perform(io);
    const message = `'${tool}' did not finish within ${limitMs} ms`;
    return { ok: false, error: { code: 'timeout', message, data: { name: 'TimeoutError' } } };
  }
  if (is('tool.slow', 'slow')) await new Promise((resolve) => setTimeout(resolve, Math.min(limitMs / 2, 5_000)));
  return perform(io);
}

/** Runs the real leaf of a tool call with a function that does not work. */
function brokenCall(
  { request, effects }: Effect,
  { io, limitMs, work }: { readonly io: PerformIo; readonly limitMs: number; readonly work: () => unknown },
): Promise<Outcome> {
  const args = isJsonObject(request) ? request['args'] : {};
  const logic = callTool({
    local: () => work,
    mcp: () => ({ callTool: () => Promise.reject(new Error('no server')) }),
  });
  const input = {
    callId: textAt(request, 'callId'),
    tool: textAt(request, 'tool'),
    args: isJsonObject(args) ? args : {},
    origin: { kind: 'local' },
    effects,
    timeoutMs: limitMs,
    maxResultBytes: LARGEST,
    agent: '',
  } as const;
  return new Promise((resolve) => {
    const actor = createActor(logic, { input });
    io.signal.addEventListener('abort', () => actor.stop(), { once: true });
    actor.subscribe({
      next: ({ status, output }) => {
        if (status !== 'done') return;
        const json = toJson(output);
        resolve(json.ok ? json : { ok: false, error: { code: 'not-json', message: json.reason } });
      },
      error: (error) => resolve({ ok: false, error: leafErrorOf({ error }) }),
    });
    actor.start();
  });
}
