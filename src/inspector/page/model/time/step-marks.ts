import type { Told } from '../talk/talk.ts';

/** Something on the timeline that a reader looks for. */
export interface StepMark {
  readonly position: number;
  readonly kind: 'retry' | 'error' | 'approval' | 'plan' | 'answer' | 'end';
  readonly text: string;
}

/** The marks of a run, in order: retries, errors, approvals, plans, and how it ended. */
export function stepMarks(told: readonly Told[]): readonly StepMark[] {
  return told.flatMap(({ event, step: position }): readonly StepMark[] => {
    switch (event.type) {
      case 'model.retrying':
        return [{ position, kind: 'retry', text: `model retry: ${event.error.message}` }];
      case 'recovery.step':
        return [{ position, kind: 'retry', text: `${event.tool}: ${event.step}` }];
      case 'tool.finished':
        return event.ok ? [] : [{ position, kind: 'error', text: `${event.tool}: ${event.result.error ?? 'failed'}` }];
      case 'tool.denied':
        return [{ position, kind: 'error', text: `${event.tool}: denied` }];
      case 'escalation.raised':
        return [{ position, kind: 'error', text: `escalated: ${event.reason}` }];
      case 'loop.suspected':
        return [
          { position, kind: event.verdict === 'refuse' ? 'error' : 'retry', text: `${event.tool} repeats itself` },
        ];
      case 'approval.requested':
        return [{ position, kind: 'approval', text: `${event.tool}: waits for approval` }];
      case 'plan.made':
        return [{ position, kind: 'plan', text: `plan of ${event.steps.length} steps` }];
      case 'answer':
        return [{ position, kind: 'answer', text: 'answer' }];
      case 'run.finished':
        return event.result.success
          ? []
          : [
              {
                position,
                kind: event.result.status === 'failed' ? 'error' : 'end',
                text: `ended: ${event.result.reason}`,
              },
            ];
      default:
        return [];
    }
  });
}
