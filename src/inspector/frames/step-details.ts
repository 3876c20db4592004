import { snapshotAt } from './beginning.ts';
import { candidatesOf } from './candidates.ts';
import type { StepMatter } from './frame-maker.ts';
import { type Inerted, inertJson, inertObject } from './inert-json.ts';
import type { LineSource } from '../sessions/line-source.ts';
import { type Playback, playback } from '../sessions/playback.ts';
import type { Frame, StepDetail, StepInfo } from './protocol.ts';
import { inSlices } from './slices.ts';

/** The details of a recorded session's steps, found by playing the recording back when the first is asked for. */
export interface StepDetails {
  /** Null: there is no such step. */
  of(n: number): Promise<StepDetail | null>;
  /** All frames so far, and the details of all their steps; objects that steps share are shared. */
  all(): Promise<{ readonly frames: readonly Frame[]; readonly details: readonly StepDetail[] }>;
  /** Lets go of what was played back. */
  forget(): void;
}

interface Played {
  readonly player: Playback;
  readonly next: ReturnType<LineSource['reader']>;
  readonly frames: Frame[];
  readonly steps: { readonly info: StepInfo; readonly matter: StepMatter }[];
}

/** Reads the details out of the lines of a session. What was played back is kept, and goes on as lines come. */
export function stepDetails(session: string, source: LineSource): StepDetails {
  let kept: Played | null = null;

  const played = async (): Promise<Played> => {
    const so = (kept ??= begin());
    const { player, next } = so;
    await inSlices(
      () => {
        const line = next();
        if (line !== null) player.feed(line);
        return line !== null;
      },
      () => false,
    );
    return so;
  };
  const begin = (): Played => {
    const frames: Frame[] = [];
    const steps: Played['steps'] = [];
    const player = playback({
      session,
      emit: (frame) => void frames.push(frame),
      onStep: (_n, matter) => {
        const frame = frames.at(-1);
        if (frame?.t === 'step') steps.push({ info: frame.step, matter });
      },
    });
    return { player, next: source.reader(), frames, steps };
  };

  return {
    of: async (n) => {
      const { steps } = await played();
      const step = steps[n - 1];
      return step === undefined ? null : detailOf(step.info, step.matter);
    },
    all: async () => {
      const { frames, steps } = await played();
      const known: Inerted = new WeakMap();
      return { frames: [...frames], details: steps.map(({ info, matter }) => detailOf(info, matter, known)) };
    },
    forget: () => {
      kept = null;
    },
  };
}

/** What is shown of one step. */
export function detailOf(step: StepInfo, matter: StepMatter, known?: Inerted): StepDetail {
  const { event, before, after } = matter;
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
    candidates: candidatesOf(matter),
  };
}
