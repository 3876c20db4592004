import { questionInput } from '../../machines/agent/escalating.ts';
import { askedBecause } from '../../machines/tool-call/tool-call-context.ts';
import type { Move } from '../../machines/events/transition-log.ts';
import { type JsonObject } from '../../json/json.ts';
import type { McpBinding } from '../servers/mcp-binding.ts';
import { sourceOf } from '../../tools/server-tool.ts';
import type { ToolSpec } from '../../tools/spec.ts';
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

/** The sign-ins that an agent's servers wait for, as questions of its runs. */
export interface PendingLogins {
  list(runId: string): readonly PendingApproval[];
  /** Takes the address on which a browser has ended. Null: the question is none of these. */
  approve(callId: string, args: JsonObject | undefined): boolean | null;
  /** Ends the waiting. Null: the question is none of these. */
  reject(callId: string): boolean | null;
}

const LOGIN = 'login:';

/** The sign-ins that the servers of an agent wait for. They belong to no run, so no recording holds them. */
export function pendingLogins(mcp: Pick<McpBinding, 'logins' | 'connection'>): PendingLogins {
  const serverOf = (callId: string): string | null => (callId.startsWith(LOGIN) ? callId.slice(LOGIN.length) : null);
  return {
    list: (runId) =>
      mcp.logins().map((login) => ({
        runId,
        callId: `${LOGIN}${login.server}`,
        tool: login.server,
        args: {},
        reason: `The MCP server '${login.server}' needs a person to sign in.`,
        login,
      })),
    approve: (callId, { address } = {}) => {
      const server = serverOf(callId);
      if (server === null) return null;
      return typeof address === 'string' && mcp.connection(server)?.answerLogin(address) === true;
    },
    reject: (callId) => {
      const server = serverOf(callId);
      if (server === null) return null;
      const connection = mcp.connection(server);
      if (connection?.pendingLogin == null) return false;
      connection.cancelLogin();
      return true;
    },
  };
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
