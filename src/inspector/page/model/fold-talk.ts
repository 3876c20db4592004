import type { Json } from '../../../json/json.ts';
import type { RunEvent } from '../../../machines/events/run-events.ts';
import type { SaidEvent, TalkItem, TalkLog } from './talk.ts';
import { lastUpTo } from './time-scale.ts';
import { jsonEquals } from '../../../parsing/schema/json-types.ts';
import { isQuestion, TalkDraft } from './talk-draft.ts';
import type { ToolSource } from '../../../tools/server-tool.ts';

/** After so many events a draft is kept: moving around in a long run folds no more than these again. */
const KEPT_EVERY = 2048;

/** The drafts that are kept of each run, the first after the first `KEPT_EVERY` events. */
const kept = new WeakMap<readonly SaidEvent[], TalkDraft[]>();

/** The conversation as it stood after the step at `position`, of events that only ever grow. */
export function talkAt(told: readonly SaidEvent[], position: number): TalkLog {
  const end = lastUpTo(told.length, (index) => told[index]?.step, position) + 1;
  const drafts = kept.get(told) ?? [];
  kept.set(told, drafts);
  const known = Math.min(drafts.length, Math.floor(end / KEPT_EVERY));
  const draft = drafts[known - 1]?.copy() ?? new TalkDraft();
  for (let next = known * KEPT_EVERY; next < end; next++) {
    if (next > 0 && next % KEPT_EVERY === 0 && next / KEPT_EVERY > drafts.length) drafts.push(draft.copy());
    const one = told[next];
    if (one !== undefined) foldTalk(draft, one);
  }
  return draft;
}

/** Adds what an event says to the conversation. Pure in what it is fed: the same events in order give the same conversation. */
export function foldTalk(draft: TalkDraft, told: SaidEvent): void {
  const { event } = told;
  switch (event.type) {
    case 'run.started':
      return draft.add({ ...draft.itemOf(told), kind: 'task', text: event.task });
    case 'step.started':
      draft.add({ ...draft.itemOf(told), kind: 'turn', number: event.step, limit: event.limit, of: event.kind });
      if (event.kind === 'model') draft.addModel(told);
      return;
    case 'model.token':
      return draft.changeModel(told, (item) => {
        const before = event.attempt === item.attempt && event.index > 0 ? item.raw : '';
        const raw = event.kind === 'reasoning' ? before : before + event.text;
        return { ...item, thought: event.thought, answer: event.answer, raw, attempt: event.attempt };
      });
    case 'model.retrying':
      return draft.changeModel(told, (item) => ({
        ...item,
        raw: '',
        answer: '',
        retries: [...item.retries, { attempt: event.attempt, ...event.error, next: event.next || undefined }],
      }));
    case 'model.replied':
      return draft.changeModel(told, (item) => ({
        ...item,
        answer: '',
        replied: event,
        replyStep: told.step,
        endedAt: told.at,
      }));
    case 'thought':
      return draft.changeModel(told, (item) => ({ ...item, thought: event.text }));
    case 'goal':
      return draft.changeModel(told, (item) => ({ ...item, goal: event.text }));
    case 'plan.made': {
      const steps = event.steps.map(({ tool, args }) => ({ tool, args, status: 'waiting', callId: null }) as const);
      return draft.add({ ...draft.itemOf(told), kind: 'plan', iteration: event.iteration, steps });
    }
    case 'state.changed':
      if (event.from === 'EXECUTING_PLAN') draft.closePlan(told);
      if (event.from === 'ERROR_RECOVERY') draft.closeQuestions(told, event.answer);
      return;
    case 'message.received': {
      const { id, text, kind: way } = event;
      return draft.add({ ...draft.itemOf(told), kind: 'message', id, text, way, delivered: null });
    }
    case 'message.delivered':
      return draft.changeMessage(told, event.id, event.step);
    case 'answer':
      return draft.add({ ...draft.itemOf(told), kind: 'answer', text: event.text });
    case 'run.finished':
      draft.closeCalls(told, '');
      draft.closeTurns(told, '');
      if (event.result.partialAnswer !== undefined) {
        const { partialAnswer: answer } = event.result;
        draft.changeModel(told, (item) => ({ ...item, answer }));
      }
      return draft.add({ ...draft.itemOf(told), kind: 'end', result: event.result });
    case 'tool.started':
    case 'tool.finished':
    case 'tool.denied':
    case 'approval.requested':
    case 'recovery.step':
      return foldCall(draft, told, event);
    case 'tool.progress': {
      const { progress, total, message } = event;
      const text = [total === null ? progress : `${progress} of ${total}`, ...(message === null ? [] : [message])].join(
        ': ',
      );
      return void draft.changeCall(told, event.callId, (item) => ({ ...item, progress: text }));
    }
    case 'question.asked':
    case 'question.answered':
      return foldQuestion(draft, told, event);
    default:
      return foldNote(draft, told, event);
  }
}

function foldNote(draft: TalkDraft, told: SaidEvent, event: RunEvent): void {
  const note = (tone: 'info' | 'caution' | 'danger', text: string): void =>
    draft.add({ ...draft.itemOf(told), kind: 'note', tone, text });
  switch (event.type) {
    case 'warning':
      return note('caution', event.message);
    case 'escalation.raised':
      return note(
        event.severity === 'low' ? 'caution' : 'danger',
        `${event.source} escalated (${event.severity}): ${event.reason}`,
      );
    case 'loop.suspected':
      return event.verdict === 'nudge'
        ? note('caution', `${event.tool} is called repeatedly: the model was asked to do something else.`)
        : note('danger', `${event.tool} goes in circles: the call is refused.`);
    case 'permission.outdated':
      return note(
        'caution',
        `${event.tool} has changed since it was always allowed (${event.changes.map(({ what }) => what).join(', ')}): it is asked about again.`,
      );
    case 'mcp.changed':
      return note('info', `Server ${event.server}: ${stateOf(event)}, ${event.tools} tools`);
    case 'mcp.log':
      return note(event.grave ? 'caution' : 'info', `Server ${event.server} logs (${event.level}): ${event.message}`);
    default:
  }
}

type QuestionEvent = Extract<RunEvent, { type: 'question.asked' | 'question.answered' }>;

/** A server asks one question after the other: an answer is that of the latest of its kind. */
function foldQuestion(draft: TalkDraft, told: SaidEvent, event: QuestionEvent): void {
  const { server, kind } = event;
  draft.changeCall(told, event.callId, (item) => {
    if (event.type === 'question.asked') {
      const message = event.url === undefined ? event.message : `${event.message} ${event.url}`;
      const asked = { server, kind, message, action: null, content: null } as const;
      return { ...item, questions: [...item.questions, asked] };
    }
    const at = item.questions.findLastIndex((one) => one.action === null && one.server === server && one.kind === kind);
    const question = item.questions[at];
    if (question === undefined) return item;
    const { action, content } = event;
    return { ...item, questions: item.questions.with(at, { ...question, action, content }) };
  });
}

/** `AUTHORIZING.AWAITING_USER`; recordings of events from before there were steps have none. */
function stateOf({ state, step }: { readonly state: string; readonly step: string | null }): string {
  return step == null ? state : `${state}.${step}`;
}

type CallEvent = Extract<
  RunEvent,
  { type: 'tool.started' | 'tool.finished' | 'tool.denied' | 'approval.requested' | 'recovery.step' }
>;
type CallItem = Extract<TalkItem, { kind: 'call' }>;

/** Folds what happens to one call into its one entry, and into the plan that it may be a step of. */
function foldCall(draft: TalkDraft, told: SaidEvent, event: CallEvent): void {
  const change = (how: (item: CallItem) => CallItem): void => {
    if (draft.changeCall(told, event.callId, how)) return;
    const { callId, tool } = event;
    const args = event.type === 'recovery.step' ? null : event.args;
    draft.add(how({ ...draft.itemOf(told), kind: 'call', callId, tool, args, ...NEW_CALL }));
  };
  switch (event.type) {
    case 'approval.requested':
      draft.changePlan(told, event, 'running');
      return change((item) => ({
        ...item,
        args: event.args,
        status: 'waiting',
        reason: event.reason,
        source: sourceIn(event),
      }));
    case 'tool.started':
      draft.changePlan(told, event, 'running');
      return change((item) => ({
        ...item,
        ...editsIn(item, event.args),
        args: event.args,
        status: 'running',
        progress: '',
      }));
    case 'recovery.step':
      // A decision about a whole turn is not a call, and nothing ever ends it.
      if (isQuestion(event.callId)) return noteVerdict(draft, told, event);
      return change((item) => {
        const taken = { step: `${event.step} #${event.attempt}`, error: event.error };
        return { ...item, recovery: [...item.recovery, taken] };
      });
    case 'tool.finished': {
      const { args, result, durationMs } = event;
      draft.changePlan(told, event, event.ok ? 'done' : 'failed');
      draft.closeCalls(told, `${event.callId}.`);
      draft.closeTurns(told, `${event.callId}.`);
      return change((item) => ({ ...item, args, result, durationMs, status: event.ok ? 'ok' : 'failed' }));
    }
    case 'tool.denied':
      draft.changePlan(told, event, 'failed');
      return change((item) => ({ ...item, args: event.args, status: 'denied', reason: event.reason }));
  }
}

const NEW_CALL = {
  status: 'running',
  reason: '',
  source: {},
  result: null,
  durationMs: null,
  recovery: [],
  proposed: null,
  questions: [],
  progress: '',
} as const;

/** A call that waited for a person and starts with other arguments was changed by that person. */
function editsIn({ status, args }: CallItem, started: Json): Pick<CallItem, 'proposed'> | null {
  return status === 'waiting' && !jsonEquals(args, started) ? { proposed: args } : null;
}

/** The event's data about the tool's server: everything that it has besides the call. */
function sourceIn(event: Extract<CallEvent, { type: 'approval.requested' }>): ToolSource {
  const { type: _type, seq: _seq, replayed: _replayed, child: _child, callId: _id, ...rest } = event;
  const { tool: _tool, args: _args, reason: _reason, ...source } = rest;
  return source;
}

function noteVerdict(draft: TalkDraft, told: SaidEvent, event: Extract<CallEvent, { type: 'recovery.step' }>): void {
  const text = `${event.tool === '' ? 'The error' : event.tool} was escalated and decided: ${event.step} (${event.error})`;
  draft.add({ ...draft.itemOf(told), kind: 'note', tone: 'caution', text });
}
