import type { AnyActorRef, AnyMachineSnapshot } from 'xstate';
import { actorPath } from '../../actors/leaf.ts';
import { questionInput } from '../../machines/agent/escalating.ts';
import { type ToolCallContext, askedBecause } from '../../machines/tool-call/tool-call-context.ts';
import { isIn, isMachineSnapshot, stateText } from '../../machines/events/transition-log.ts';
import type { agentMachine } from '../../machines/agent/agent.ts';
import type { toolCallMachine } from '../../machines/tool-call/tool-call.ts';
import { type JsonObject } from '../../json/json.ts';
import type { McpBinding } from '../servers/mcp-binding.ts';
import { sourceOf } from '../../tools/server-tool.ts';
import type { PendingApproval } from './run.ts';

/** A call that waits for a person, and the path of the actor that waits. */
interface WaitingCall extends PendingApproval {
  readonly path: string;
}

const LOGIN = 'login:';

/** The sign-ins that the servers of an agent wait for, as questions of its runs. They belong to no run, so no recording holds them. */
export class PendingLogins {
  readonly #mcp: Pick<McpBinding, 'logins' | 'connection'>;

  constructor(mcp: Pick<McpBinding, 'logins' | 'connection'>) {
    this.#mcp = mcp;
  }

  list(runId: string): readonly PendingApproval[] {
    return this.#mcp.logins().map((login) => ({
      runId,
      callId: `${LOGIN}${login.server}`,
      tool: login.server,
      args: {},
      reason: `The MCP server '${login.server}' needs a person to sign in.`,
      login,
    }));
  }

  /** Takes the address on which a browser has ended. Null: the question is none of these. */
  approve(callId: string, { address }: JsonObject | undefined = {}): boolean | null {
    const server = serverOf(callId);
    if (server === null) return null;
    return typeof address === 'string' && this.#mcp.connection(server)?.answerLogin(address) === true;
  }

  /** Ends the waiting. Null: the question is none of these. */
  reject(callId: string): boolean | null {
    const server = serverOf(callId);
    if (server === null) return null;
    const connection = this.#mcp.connection(server);
    if (connection?.pendingLogin == null) return false;
    connection.cancelLogin();
    return true;
  }
}

/** What a page has sent may be no text: no call is called so. */
function serverOf(callId: unknown): string | null {
  return typeof callId === 'string' && callId.startsWith(LOGIN) ? callId.slice(LOGIN.length) : null;
}

/** The calls of a run that wait for a person, read off its actors, whose root is given. */
export function pendingApprovals(runId: string, root: AnyActorRef): readonly PendingApproval[] {
  return waitingCalls(runId, root).map(({ path: _path, ...call }) => call);
}

/** The path of the actor that waits for a person's answer about a call; undefined if none does. */
export function waitingPath(root: AnyActorRef, callId: string): string | undefined {
  return waitingCalls('', root).find((call) => call.callId === callId)?.path;
}

function waitingCalls(runId: string, actor: AnyActorRef): readonly WaitingCall[] {
  const snapshot: unknown = actor.getSnapshot();
  if (!isMachineSnapshot(snapshot) || snapshot.status !== 'active') return [];
  const own = waitingCall(snapshot);
  const below = Object.values<AnyActorRef | undefined>(snapshot.children).flatMap((child) =>
    child === undefined ? [] : waitingCalls(runId, child),
  );
  return own === null ? below : [{ runId, ...own, path: actorPath(actor) }, ...below];
}

function waitingCall({ machine, context, value }: AnyMachineSnapshot): Omit<PendingApproval, 'runId'> | null {
  const state = stateText(value);
  if (machine.id === 'agent')
    return isIn<typeof agentMachine>(state, 'ERROR_RECOVERY.ASKING_HUMAN') ? askedBy(questionInput(context)) : null;
  if (machine.id !== 'toolCall' || !isIn<typeof toolCallMachine>(state, 'AWAITING_APPROVAL.ASKING')) return null;
  const { request, args, spec, caller }: ToolCallContext = context;
  const about = { callId: request.callId, tool: spec?.name ?? '', args, reason: askedBecause(context) };
  return { ...askedBy({ ...about, agent: caller.agent }), ...(spec === null ? {} : sourceOf(spec)) };
}

function askedBy<T extends object>({ agent, ...about }: T & { readonly agent: string }) {
  return agent === '' ? about : { ...about, child: agent };
}
