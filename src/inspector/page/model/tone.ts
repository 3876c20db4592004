import type { MachineDrawing, SessionInfo, StateDrawing, StepInfo, Tone } from '../../frames/protocol.ts';
import type { StateBox } from '../../layout/chart-layout.ts';
import { innermost } from './actor-state.ts';

/** What a state of a drawing means: as the drawing defines it, else as for the state around it; `go` by default. */
export function toneOf(drawing: MachineDrawing | undefined, path: string): Tone {
  return drawing === undefined ? 'go' : (tonesOf(drawing).get(path) ?? 'go');
}

/** What several states that are active at once mean together: what needs a look first. */
export function toneOfAll(drawing: MachineDrawing | undefined, paths: readonly string[]): Tone {
  const tones = new Set(paths.map((path) => toneOf(drawing, path)));
  return URGENCY.find((tone) => tones.has(tone)) ?? 'go';
}

/** What the states after a step mean; where the step ended its actor with a result, what that is. */
export function toneAfter(drawing: MachineDrawing | undefined, step: Pick<StepInfo, 'to' | 'tone'> | null): Tone {
  return step?.tone ?? toneOfAll(drawing, innermost(step?.to ?? []));
}

/** What a state means as it is drawn: one that is final, what its machine has come to. */
export function toneOfBox(
  drawing: MachineDrawing | undefined,
  { kind, path }: Pick<StateBox, 'kind' | 'path'>,
  step: StepInfo | null,
): Tone {
  return kind === 'final' ? toneAfter(drawing, step) : toneOf(drawing, path);
}

const URGENCY: readonly Tone[] = ['danger', 'wait', 'caution', 'pause', 'tool', 'model', 'go', 'done', 'end'];

const known = new WeakMap<MachineDrawing, ReadonlyMap<string, Tone>>();

function tonesOf(drawing: MachineDrawing): ReadonlyMap<string, Tone> {
  const before = known.get(drawing);
  if (before !== undefined) return before;
  const tones = new Map<string, Tone>();
  const visit = (state: StateDrawing, around: Tone): void => {
    const tone = state.tone ?? around;
    tones.set(state.path, tone);
    for (const child of state.children) visit(child, tone);
  };
  visit(drawing.root, 'go');
  known.set(drawing, tones);
  return tones;
}

/** How the state of a session is shown. */
export function statusTone({ status, waiting = 0, kind }: Pick<SessionInfo, 'status' | 'waiting' | 'kind'>): Tone {
  if (waiting > 0 && isOpen(status)) return 'wait';
  switch (status) {
    case 'running':
      return 'go';
    case 'answered':
      // For a foreign machine it is unknown whether its end is a success.
      return kind === 'system' ? 'end' : 'done';
    case 'failed':
      return 'danger';
    case 'stopped':
    case 'cancelled':
    case 'interrupted':
      return 'caution';
  }
}

/** The state of a session in words, with the reason where it says more. */
export function statusText({ status, reason, waiting = 0, kind }: SessionInfo): string {
  if (waiting > 0 && isOpen(status)) return waiting === 1 ? 'waiting for you' : `${waiting} calls wait for you`;
  if (status === 'answered' && kind === 'system') return 'ended';
  return reason === null || reason === 'answer' || reason === status ? status : `${status}: ${reason}`;
}

/** True for a session that may still be answered: it runs, or was interrupted while it waited. */
function isOpen(status: SessionInfo['status']): boolean {
  return status === 'running' || status === 'interrupted';
}
