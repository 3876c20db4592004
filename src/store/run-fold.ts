/**
 * Owns: what a user interface shows of a run or a chat, as a pure fold over RunEvents. Does not own: where the events come from.
 *
 * I1 The same events give the same view. An event that was there before changes nothing: events are counted by `seq`.
 * I2 What was streamed of a reply is kept only until the reply is complete, requested again or abandoned.
 */
import type { Usage } from '../actors/model.ts';
import type { AnyResult } from '../machines/contract/run-result.ts';
import type { RunEvent } from '../machines/events/run-events.ts';
import type { CallView, MessageView, PendingView, RunSnapshot } from './view-types.ts';

/** A view and how far it has come. */
export interface RunFold {
  readonly view: RunSnapshot;
  /** The number of the last event of the run. */
  readonly seq: number;
}

/** What there is before the first event. */
export const NO_EVENTS: RunFold = {
  seq: 0,
  view: {
    runId: null,
    status: 'idle',
    state: 'PLANNING',
    step: 0,
    limit: 0,
    messages: [],
    pending: [],
    usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    output: null,
    error: null,
    connection: 'connecting',
  },
};

/** An event as a server sends it. */
export type ShownEvent = RunEvent & {
  /** Of a call that waits: of the arguments that are shown. */
  readonly digest?: string;
  /** Of a token: its `thought` and `answer` follow what is shown, instead of replacing it. */
  readonly more?: boolean;
};

/** The view after one more event. */
export function foldEvent(before: RunFold, event: ShownEvent): RunFold {
  const isNewRun = event.type === 'run.started' && event.runId !== before.view.runId;
  // What is streamed has the number of the event that it is behind: nothing is shown that belongs to another turn.
  const isStreamed = event.type === 'model.token' || event.type === 'output.partial';
  if (isStreamed ? event.seq !== before.seq : event.seq <= before.seq && !isNewRun) return before;
  return { seq: event.seq, view: pendingAfter(shown(before.view, event), event) };
}

function shown(before: RunSnapshot, event: ShownEvent): RunSnapshot {
  const view = event.type === 'model.replied' ? { ...before, usage: sum(before.usage, event.usage) } : before;
  // The actions of an agent below are shown; its texts are left to its parent.
  if (event.child) return view;
  const turn = `${view.runId}:${view.step}`;
  switch (event.type) {
    case 'run.started':
      return {
        ...NO_EVENTS.view,
        connection: view.connection,
        runId: event.runId,
        status: 'working',
        limit: event.maxSteps,
        messages: [
          // A message that was queued is the task of the run that it became.
          ...view.messages.filter((one) => !one.isWaiting || one.text !== event.task),
          said(event.runId, event.task),
        ],
      };
    case 'step.started':
      return { ...withoutDraft(view), step: event.step, limit: event.limit };
    case 'state.changed': {
      const asked = view.pending.find((one) => one.callId === event.callId);
      const next = { ...view, state: event.to };
      return asked ? withCall(next, turn, answered(asked, event.answer)) : next;
    }
    case 'model.token': {
      if (!(event.answer + event.thought)) return view;
      const { text, thought } = (event.more && messageIn(view, turn)) || NO_TEXT;
      return withMessage(view, turn, { text: text + event.answer, thought: thought + event.thought, isPartial: true });
    }
    case 'output.partial':
      return { ...view, output: event.output };
    case 'model.retrying':
      return withoutDraft(view);
    case 'model.replied':
      return withReply(view, turn, event.answer ?? (event.strategy === 'native' && event.text));
    case 'thought':
      // The words beside native calls come as the text, too.
      return messageIn(view, turn)?.text === event.text ? view : withMessage(view, turn, { thought: event.text });
    case 'answer':
      return withMessage(view, turn, { text: event.text, isPartial: false });
    case 'message.received':
      return { ...view, messages: [...view.messages, said(event.id, event.text, true)] };
    case 'message.delivered':
      return withMessage(view, event.id, { isWaiting: false });
    case 'approval.requested':
      return withCall(view, turn, { ...callIn(event), status: 'waiting' });
    case 'tool.started':
      return withCall(view, turn, { ...callIn(event), status: 'running' });
    case 'tool.finished':
      return withCall(view, turn, { ...callIn(event), status: 'finished' });
    case 'tool.denied':
      return withCall(view, turn, { ...callIn(event), status: 'denied' });
    case 'run.finished':
      return ended(withReply(view, turn, event.result.partialAnswer), event.result);
    default:
      return view;
  }
}

function ended(view: RunSnapshot, { status, usage, output, error, reason, result }: AnyResult): RunSnapshot {
  const settle = (call: CallView): CallView =>
    call.status === 'running' || call.status === 'waiting' ? { ...call, status: 'stopped' } : call;
  return {
    ...view,
    status,
    pending: [],
    usage,
    output,
    error: error ?? (status === 'answered' ? null : { code: reason, message: result }),
    messages: view.messages.map((one) => ({ ...one, calls: one.calls.map(settle) })),
  };
}

/** The calls that wait after an event: whatever happens to a call that waits ends its waiting. */
function pendingAfter(view: RunSnapshot, event: ShownEvent): RunSnapshot {
  if (!('callId' in event)) return view;
  const others = view.pending.filter((one) => one.callId !== event.callId);
  const pending =
    event.type === 'approval.requested' ? [...others, { ...callIn(event), runId: view.runId ?? '' }] : others;
  return { ...view, pending, status: pending.length ? 'waiting' : 'working' };
}

/** A question that was waited for, as a call. */
function answered(asked: PendingView, answer = ''): CallView {
  return answer === 'yes'
    ? { ...asked, status: 'finished', ok: true, result: { status: 'success' } }
    : { ...asked, status: 'denied', reason: answer };
}

/** The data of an event about its call. */
function callIn<TEvent extends RunEvent>({ type: _type, seq: _seq, replayed: _replayed, ...call }: TEvent) {
  return call;
}

function withoutDraft(view: RunSnapshot): RunSnapshot {
  const messages = view.messages.filter((one) => !one.isPartial || one.calls.length);
  return { ...view, output: null, messages: messages.map((one) => (one.isPartial ? { ...one, ...NO_TEXT } : one)) };
}

/** What is shown of a reply behind its draft. */
function withReply(view: RunSnapshot, turn: string, text?: string | false): RunSnapshot {
  return text ? withMessage(withoutDraft(view), turn, { text }) : withoutDraft(view);
}

const NO_TEXT = { text: '', thought: '', isPartial: false };

function said(id: string, text = '', isWaiting = false): MessageView {
  return { ...NO_TEXT, id, role: 'user', text, calls: [], isWaiting };
}

const messageIn = (view: RunSnapshot, id: string) => view.messages.find((one) => one.id === id);

function withMessage(view: RunSnapshot, id: string, change: Partial<MessageView>): RunSnapshot {
  const fresh: MessageView = { ...said(id), role: 'assistant' };
  const messages = messageIn(view, id) ? view.messages : [...view.messages, fresh];
  return { ...view, messages: messages.map((one) => (one.id === id ? { ...one, ...change } : one)) };
}

function withCall(view: RunSnapshot, turn: string, call: CallView): RunSnapshot {
  const { calls: before = [] } = messageIn(view, turn) ?? {};
  const calls = before.some((one) => one.callId === call.callId) ? before : [...before, call];
  return withMessage(view, turn, { calls: calls.map((one) => (one.callId === call.callId ? call : one)) });
}

function sum(one: Usage, other: Usage | null): Usage {
  if (!other) return one;
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    totalTokens: one.totalTokens + other.totalTokens,
  };
}
