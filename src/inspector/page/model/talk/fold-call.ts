import type { RunEvent } from '../../../../machines/events/run-events.ts';
import type { Json } from '../../../../json/json.ts';
import type { ToolSource } from '../../../../tools/server-tool.ts';
import type { TalkItem, Told } from './talk.ts';
import { type TalkDraft, itemOf } from './talk-draft.ts';

type CallEvent = Extract<
  RunEvent,
  { type: 'tool.started' | 'tool.finished' | 'tool.denied' | 'approval.requested' | 'recovery.step' }
>;
type CallItem = Extract<TalkItem, { kind: 'call' }>;

/** Folds what happens to one call into its one entry, and into the plan that it may be a step of. */
export function foldCall(draft: TalkDraft, told: Told, event: CallEvent): void {
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

function newCall(told: Told, event: CallEvent, args: Json): CallItem {
  const { callId, tool } = event;
  const blank = { status: 'running', reason: '', source: {}, result: null, durationMs: null, recovery: [] } as const;
  return { ...itemOf(told), kind: 'call', callId, tool, args, ...blank };
}
