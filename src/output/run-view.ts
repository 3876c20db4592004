import type { RunEvent } from '../machines/events/run-events.ts';
import type { PlanStep } from '../parsing/calls/call-forms.ts';

/** What an output has to know of a run to show its next event. */
export interface RunView {
  readonly plan: { readonly steps: readonly PlanStep[]; readonly current: number } | null;
  /** Calls that run now, by id. */
  readonly running: ReadonlyMap<string, string>;
  /** Calls that wait for a person. */
  readonly asking: ReadonlySet<string>;
  /** What the model is busy with, or null. */
  readonly model: string | null;
  /** A reply is arriving, piece by piece. */
  readonly streaming: boolean;
  /** What of the answer has arrived in the reply that streams. */
  readonly answer: string;
}

/** A run of which nothing is known yet. */
export const EMPTY_VIEW: RunView = {
  plan: null,
  running: new Map(),
  asking: new Set(),
  model: null,
  streaming: false,
  answer: '',
};

/** The view after an event. */
export function advanceView(view: RunView, event: RunEvent): RunView {
  switch (event.type) {
    case 'run.started':
    case 'run.finished':
      return EMPTY_VIEW;
    case 'step.started':
      return event.kind === 'model' ? { ...view, model: 'Thinking' } : { ...view, plan: nextStep(view.plan) };
    case 'plan.made':
      return { ...view, plan: { steps: event.steps, current: -1 } };
    case 'model.token':
      return event.answer === '' ? view : { ...view, streaming: true, answer: event.answer };
    case 'model.retrying':
      return { ...view, model: 'Trying the model again', streaming: false, answer: '' };
    case 'model.replied':
      return { ...view, model: null, streaming: false, answer: '' };
    case 'state.changed':
      // Nothing more of a reply comes once the agent has moved on, answered or cancelled.
      return event.to === 'PLANNING'
        ? { ...view, streaming: false, plan: null }
        : { ...view, streaming: false, model: null };
    case 'approval.requested':
      return { ...view, asking: new Set(view.asking).add(event.callId) };
    case 'tool.started':
      return { ...without(view, event.callId), running: new Map(view.running).set(event.callId, event.tool) };
    case 'tool.progress':
      return { ...view, running: new Map(view.running).set(event.callId, `${event.tool} ${stepText(event)}`) };
    case 'question.asked':
      return { ...view, asking: new Set(view.asking).add(event.callId) };
    case 'question.answered':
      return { ...view, asking: new Set([...view.asking].filter((callId) => callId !== event.callId)) };
    case 'tool.finished':
    case 'tool.denied':
      return without(view, event.callId);
    default:
      return view;
  }
}

/** What is being waited for, in words; null while nothing is, while a reply streams, and while a person is asked. */
export function waitingFor({ asking, running, model, streaming }: RunView): string | null {
  if (asking.size > 0 || streaming) return null;
  if (running.size > 0) return `Running ${[...running.values()].join(', ')}`;
  return model;
}

function stepText({ progress, total, message }: Extract<RunEvent, { readonly type: 'tool.progress' }>): string {
  const step = total === null ? String(progress) : `${progress} of ${total}`;
  return message === null ? `(${step})` : `(${step}: ${message})`;
}

function nextStep(plan: RunView['plan']): RunView['plan'] {
  return plan === null ? null : { ...plan, current: plan.current + 1 };
}

function without(view: RunView, callId: string): RunView {
  const running = new Map(view.running);
  const asking = new Set(view.asking);
  running.delete(callId);
  asking.delete(callId);
  return { ...view, running, asking };
}
