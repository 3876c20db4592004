import type { AnyMachineSnapshot, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { evaluateGuard } from 'xstate/guards';
import { isEventless } from './actors.ts';
import { statePath, transitionIds, transitionsFor } from './drawing.ts';
import { inSlices } from './event-loop.ts';
import { type Inerted, inertJson, inertObject } from './inert-json.ts';
import { type StepSource, isInitial, snapshotAt } from './initial-snapshot.ts';
import { guardName } from './names.ts';
import type { Frame, StepDetail, StepInfo } from './protocol.ts';
import { type FramePlayer, framePlayer } from './frame-player.ts';
import type { LineSource } from './run-port.ts';

interface Played {
  readonly player: FramePlayer;
  readonly next: ReturnType<LineSource['reader']>;
  readonly frames: Frame[];
  readonly steps: { readonly info: StepInfo; readonly source: StepSource }[];
}

/** The details of a recorded session's steps, found by playing the recording back when the first is asked for. */
export class StepDetails {
  readonly #session: string;
  readonly #source: LineSource;
  /** What was played back so far: it continues as lines come. */
  #kept: Played | null = null;

  constructor(session: string, source: LineSource) {
    this.#session = session;
    this.#source = source;
  }

  /** Null: there is no such step. */
  async of(n: number): Promise<StepDetail | null> {
    const { steps } = await this.#played();
    const step = steps[n - 1];
    return step === undefined ? null : detailOf(step.info, step.source);
  }

  /** All frames so far, and the details of all their steps; objects that steps share are shared. */
  async all(): Promise<{ readonly frames: readonly Frame[]; readonly details: readonly StepDetail[] }> {
    const { frames, steps } = await this.#played();
    const known: Inerted = new WeakMap();
    return { frames: [...frames], details: steps.map(({ info, source }) => detailOf(info, source, known)) };
  }

  /** Lets go of what was played back. */
  forget(): void {
    this.#kept = null;
  }

  async #played(): Promise<Played> {
    const played = (this.#kept ??= this.#begin());
    const step = (): boolean => {
      const line = played.next();
      if (line !== null) played.player.feed(line);
      return line !== null;
    };
    await inSlices(step, () => false);
    return played;
  }

  #begin(): Played {
    const frames: Frame[] = [];
    const steps: Played['steps'] = [];
    const player = framePlayer({
      session: this.#session,
      emit: (frame) => void frames.push(frame),
      onStep: (_n, source) => {
        const frame = frames.at(-1);
        if (frame?.t === 'step') steps.push({ info: frame.step, source });
      },
    });
    return { player, next: this.#source.reader(), frames, steps };
  }
}

/** What is shown of one step. */
export function detailOf(step: StepInfo, source: StepSource, known?: Inerted): StepDetail {
  const { event, before, after } = source;
  const [was, is] = [snapshotAt(before), snapshotAt(after)];
  return {
    step,
    event: inertObject(event, known),
    before: inertJson(was?.context ?? null, known),
    after: inertJson(is?.context ?? null, known),
    unknown: [
      ...(before !== null && was === null ? ['before' as const] : []),
      ...(is === null ? ['after' as const] : []),
    ],
    candidates: candidatesOf(source),
  };
}

/**
 * Each transition that could have been taken on a step's event, innermost state first, as XState tries them, and what its
 * guard says on the snapshot before it. Guards are pure, so they may be asked again.
 */
export function candidatesOf({ event, before, taken }: StepSource): StepDetail['candidates'] {
  if (before === null) return [];
  const snapshot = snapshotAt(before);
  const nodes: readonly AnyStateNode[] = isInitial(before) ? before.nodes : before._nodes;
  const innermostFirst = nodes.toSorted((one, other) => other.path.length - one.path.length || one.order - other.order);
  return innermostFirst
    .flatMap((node) => (isEventless(taken) ? (node.always ?? []) : transitionsFor(node, event.type)))
    .map((transition) => ({
      transition: transitionIds(transition)[0] ?? statePath(transition.source),
      guard: transition.guard === undefined ? null : guardName(transition.guard),
      passed: snapshot === null ? likelihood(transition, taken) : verdict(transition, event, snapshot),
      taken: taken.includes(transition),
    }));
}

function verdict(
  { guard }: AnyTransitionDefinition,
  event: { readonly type: string },
  before: AnyMachineSnapshot,
): boolean | 'failed' {
  if (guard === undefined) return true;
  try {
    return evaluateGuard(guard, before.context, event, before);
  } catch {
    return 'failed';
  }
}

/** What can be said of a guard without asking it: the first that passes is taken, so those before it have not passed. */
function likelihood(transition: AnyTransitionDefinition, taken: StepSource['taken']): boolean | 'unknown' {
  if (taken.includes(transition)) return true;
  const inOrder = transition.source.always ?? [];
  const chosen = inOrder.findIndex((one) => taken.includes(one));
  return chosen > inOrder.indexOf(transition) && inOrder.includes(transition) ? false : 'unknown';
}
