import type { RunEvent } from '../../../machines/events/run-events.ts';
import type { TalkLog, TalkItem, SaidEvent, PlannedStep } from './talk.ts';
import type { Json } from '../../../json/json.ts';
import type { ToolSource } from '../../../tools/server-tool.ts';

/** A conversation under construction: feed it events in order, read `talk` whenever you like. */
interface TalkFold {
  readonly talk: TalkLog;
  add(told: SaidEvent): void;
}

/** Makes the conversation of the events of a run. Pure in what it is fed: the same events give the same conversation. */
export function foldTalk(): TalkFold {
  const draft = talkDraft();
  return { talk: draft, add: (told) => fold(draft, told) };
}

/** The conversation as it stood after the step at `position`. */
export function talkAt(told: readonly SaidEvent[], position: number): TalkLog {
  const folding = foldTalk();
  for (const one of told) {
    if (one.step > position) break;
    folding.add(one);
  }
  return folding.talk;
}

function fold(draft: TalkDraft, told: SaidEvent): void {
  const { event } = told;
  switch (event.type) {
    case 'run.started':
      return draft.add({
        ...itemOf(told),
        kind: 'task',
        text: event.task,
        agent: event.agent,
        maxSteps: event.maxSteps,
      });
    case 'step.started':
      draft.add({ ...itemOf(told), kind: 'turn', number: event.step, limit: event.limit, of: event.kind });
      if (event.kind === 'model') draft.add(modelTurn(told));
      return;
    case 'model.token':
      return draft.changeModel(told, (item) => ({
        ...item,
        thought: event.thought,
        answer: event.answer,
        raw: event.attempt === item.attempt ? item.raw + event.text : event.text,
        attempt: event.attempt,
      }));
    case 'model.retrying':
      return draft.changeModel(told, (item) => ({
        ...item,
        raw: '',
        answer: '',
        retries: [...item.retries, { attempt: event.attempt, ...event.error }],
      }));
    case 'model.replied':
      return draft.changeModel(told, (item) => ({ ...item, answer: '', replied: event, endedAt: told.at }));
    case 'thought':
      return draft.changeModel(told, (item) => ({ ...item, thought: event.text }));
    case 'goal':
      return draft.changeModel(told, (item) => ({ ...item, goal: event.text }));
    case 'plan.made': {
      const steps = event.steps.map(({ tool, args }) => ({ tool, args, status: 'waiting', callId: null }) as const);
      return draft.add({ ...itemOf(told), kind: 'plan', iteration: event.iteration, steps });
    }
    case 'state.changed':
      if (event.from === 'EXECUTING_PLAN') draft.closePlan(told);
      return;
    case 'message.received': {
      const { id, text, kind: way } = event;
      return draft.add({ ...itemOf(told), kind: 'message', id, text, way, delivered: null });
    }
    case 'message.delivered':
      return draft.changeMessage(told, event.id, event.step);
    case 'answer':
      return draft.add({ ...itemOf(told), kind: 'answer', text: event.text });
    case 'run.finished':
      return draft.add({ ...itemOf(told), kind: 'end', result: event.result });
    case 'tool.started':
    case 'tool.finished':
    case 'tool.denied':
    case 'approval.requested':
    case 'recovery.step':
      return foldCall(draft, told, event);
    default:
      return foldNote(draft, told, event);
  }
}

function foldNote(draft: TalkDraft, told: SaidEvent, event: RunEvent): void {
  const note = (tone: 'info' | 'caution' | 'danger', text: string): void =>
    draft.add({ ...itemOf(told), kind: 'note', tone, text });
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

/** `AUTHORIZING.AWAITING_USER`; recordings of events from before there were steps have none. */
function stateOf({ state, step }: { readonly state: string; readonly step: string | null }): string {
  return step == null ? state : `${state}.${step}`;
}

function modelTurn(told: SaidEvent): Extract<TalkItem, { kind: 'model' }> {
  const empty = { thought: '', goal: '', answer: '', raw: '', attempt: 1, retries: [], replied: null, endedAt: null };
  return { ...itemOf(told), kind: 'model', ...empty };
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
    draft.add(how(newCall(told, event, event.type === 'recovery.step' ? null : event.args)));
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
      return change((item) => ({ ...item, args: event.args, status: 'running' }));
    case 'recovery.step':
      return change((item) => ({ ...item, recovery: [...item.recovery, `${event.step} #${event.attempt}`] }));
    case 'tool.finished': {
      const { args, result, durationMs } = event;
      draft.changePlan(told, event, event.ok ? 'done' : 'failed');
      return change((item) => ({ ...item, args, result, durationMs, status: event.ok ? 'ok' : 'failed' }));
    }
    case 'tool.denied':
      draft.changePlan(told, event, 'failed');
      return change((item) => ({ ...item, args: event.args, status: 'denied', reason: event.reason }));
  }
}

/** What the event says of whose tool it is: all that it has beside the call. */
function sourceIn(event: Extract<CallEvent, { type: 'approval.requested' }>): ToolSource {
  const { type: _type, seq: _seq, replayed: _replayed, child: _child, callId: _id, ...rest } = event;
  const { tool: _tool, args: _args, reason: _reason, ...source } = rest;
  return source;
}

function newCall(told: SaidEvent, event: CallEvent, args: Json): CallItem {
  const { callId, tool } = event;
  const blank = { status: 'running', reason: '', source: {}, result: null, durationMs: null, recovery: [] } as const;
  return { ...itemOf(told), kind: 'call', callId, tool, args, ...blank };
}

type Kind<K extends TalkItem['kind']> = Extract<TalkItem, { kind: K }>;

/** A conversation while it is made: entries are added at the end and replaced in their places. */
interface TalkDraft extends TalkLog {
  add(item: TalkItem): void;
  changeModel(told: SaidEvent, change: (item: Kind<'model'>) => Kind<'model'>): void;
  /** The model has got a message, in this step. */
  changeMessage(told: SaidEvent, id: string, delivered: number): void;
  changeCall(told: SaidEvent, callId: string, change: (item: Kind<'call'>) => Kind<'call'>): boolean;
  /** Changes the step of the running plan that a call belongs to: its own, else the first of that tool that waits. */
  changePlan(
    told: SaidEvent,
    call: { readonly callId: string; readonly tool: string },
    status: PlannedStep['status'],
  ): void;
  /** No further step of the plan will run. */
  closePlan(told: SaidEvent): void;
}

/** What every entry begins with. */
function itemOf({ at, step }: SaidEvent): Pick<TalkItem, 'at' | 'step' | 'last'> {
  return { at, step, last: step };
}

/** An empty conversation. */
function talkDraft(): TalkDraft {
  const items: TalkItem[] = [];
  const calls = new Map<string, number>();
  let model: number | null = null;
  let plan: number | null = null;

  const planItem = (): Kind<'plan'> | null => {
    const item = plan === null ? undefined : items[plan];
    return item?.kind === 'plan' ? item : null;
  };

  return {
    items,
    add: (item) => {
      const place = items.push(item) - 1;
      if (item.kind === 'model') model = place;
      if (item.kind === 'plan') plan = place;
      if (item.kind === 'call') calls.set(item.callId, place);
    },
    changeModel: ({ step }, change) => {
      const item = model === null ? undefined : items[model];
      if (model !== null && item?.kind === 'model') items[model] = { ...change(item), last: step };
    },
    changeMessage: ({ step }, id, delivered) => {
      const place = items.findLastIndex((item) => item.kind === 'message' && item.id === id);
      const item = items[place];
      if (item?.kind === 'message') items[place] = { ...item, delivered, last: step };
    },
    changeCall: ({ step }, callId, change) => {
      const place = calls.get(callId);
      const item = place === undefined ? undefined : items[place];
      if (place === undefined || item?.kind !== 'call') return false;
      items[place] = { ...change(item), last: step };
      return true;
    },
    changePlan: ({ step }, { callId, tool }, status) => {
      const item = planItem();
      if (plan === null || item === null) return;
      const own = item.steps.findIndex((planned) => planned.callId === callId);
      const at = own >= 0 ? own : item.steps.findIndex((planned) => planned.status === 'waiting');
      const planned = item.steps[at];
      if (planned === undefined || (own < 0 && !sameTool(planned.tool, tool))) return;
      items[plan] = { ...item, last: step, steps: item.steps.with(at, { ...planned, status, callId }) };
    },
    closePlan: ({ step }) => {
      const item = planItem();
      if (plan === null || item === null) return;
      const steps = item.steps.map((planned) =>
        planned.status === 'waiting' ? ({ ...planned, status: 'dropped' } as const) : planned,
      );
      items[plan] = { ...item, last: step, steps };
      plan = null;
    },
  };
}

/** A plan may name a tool loosely; what runs has the registered name, which then ends like it. */
function sameTool(planned: string, registered: string): boolean {
  const [short, long] = [planned.toLowerCase(), registered.toLowerCase()];
  return short === long || long.endsWith(`_${short}`);
}
