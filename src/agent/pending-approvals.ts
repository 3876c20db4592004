import { questionInput } from '../machines/escalating.ts';
import { askedBecause } from '../machines/tool-call-context.ts';
import type { Move } from '../machines/transition-log.ts';
import { sourceOf } from '../tools/server-tool.ts';
import type { ToolSpec } from '../tools/spec.ts';
import type { PendingApproval } from './run.ts';

/** A call that waits for a person, and the path of the actor that waits. */
export interface WaitingCall extends PendingApproval {
  readonly path: string;
}

/** The calls of one run that wait for a person. */
export interface PendingApprovals {
  /** Hears of every move of the run's machines. */
  follow(move: Move): void;
  find(callId: string): WaitingCall | undefined;
  list(): readonly PendingApproval[];
}

/** Follows the moves of a run and knows which of its calls wait for a person. */
export function pendingApprovals(runId: string): PendingApprovals {
  const waiting = new Map<string, WaitingCall>();
  return {
    follow: ({ machine, snapshot: { context, value }, path }) => {
      if (machine === 'agent') {
        const asked =
          typeof value === 'object' && value.ERROR_RECOVERY === 'ASKING_HUMAN' ? questionInput(context) : null;
        for (const [callId, call] of waiting)
          if (call.path === path && callId !== asked?.callId) waiting.delete(callId);
        if (asked !== null) waiting.set(asked.callId, { runId, ...asked, path });
      }
      if (machine !== 'toolCall') return;
      const { callId } = context.request;
      if (typeof value !== 'object' || !('AWAITING_APPROVAL' in value)) return void waiting.delete(callId);
      const spec: ToolSpec | null = context.spec;
      const about = { tool: spec?.name ?? '', args: context.args, reason: askedBecause(context) };
      waiting.set(callId, { runId, callId, ...about, ...(spec === null ? {} : sourceOf(spec)), path });
    },
    find: (callId) => waiting.get(callId),
    list: () => [...waiting.values()].map(({ path: _path, ...call }) => call),
  };
}
