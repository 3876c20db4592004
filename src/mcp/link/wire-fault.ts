import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { LinkFault } from './link.ts';
import type { Ticket } from './tickets.ts';
import type { Wire } from './wire.ts';

/**
 * Says what became of a request by what was seen on the wire, and first of all by what we did ourselves. The error's own
 * code counts for nothing: -32001 stands for a timeout, an abort and a lost session alike.
 */
export function faultOf(
  error: unknown,
  wire: Pick<Wire<unknown>, 'dead'>,
  ticket: Ticket | null,
  signal: AbortSignal,
): LinkFault {
  const delivered = ticket?.delivered ?? false;
  if (signal.aborted) return new LinkFault('aborted', 'the request was given up', { delivered });
  const answer = ticket?.answer ?? null;
  if (answer !== null) {
    const data = isJsonObject(answer.error) ? answer.error : {};
    const message = typeof data.message === 'string' ? data.message : 'its answer is not what the protocol says';
    return new LinkFault('answer', message, { delivered: true, data, cause: error });
  }
  if (error instanceof LinkFault) return error;
  const dead = wire.dead();
  if (dead !== null) return new LinkFault(dead.kind, dead.message, { delivered, data: dead.data, cause: dead });
  const what = error instanceof Error ? error.message : String(error);
  return new LinkFault('unreachable', `the connection broke (${what})`, { delivered, cause: error });
}

/** The fault of a server whose answer to `initialize` we cannot use; `supported` are the protocol versions that we speak. */
export function notOurProtocol(answer: JsonObject, supported: readonly string[]): LinkFault {
  const result = isJsonObject(answer.result) ? answer.result : {};
  const version = typeof result.protocolVersion === 'string' ? result.protocolVersion : null;
  const what =
    version === null
      ? 'it did not answer `initialize` as an MCP server does'
      : `it speaks MCP version ${version}, which is not supported`;
  return new LinkFault('protocol', what, { delivered: false, data: { answer, version, supported } });
}

/** True where a server said no with 4xx to what it was sent: an older one may know only the SSE transport. */
export function isRefusal(fault: unknown): boolean {
  const status = fault instanceof LinkFault && fault.kind === 'refused' ? Number(fault.data.status) : 0;
  return status >= 400 && status < 500 && status !== 429;
}

/** The same fault with more to go by. */
export function withEvidence(fault: LinkFault, evidence: JsonObject): LinkFault {
  const data = { ...fault.data, ...evidence };
  return new LinkFault(fault.kind, fault.message, { delivered: fault.delivered, data, cause: fault });
}
