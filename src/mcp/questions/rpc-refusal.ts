/** Codes of JSON-RPC and MCP for a no to a server's request. */
export const REFUSAL = { invalidParams: -32602, unknownMethod: -32601, internal: -32603, rejected: -1 } as const;

/** A no to a request of a server, in the form in which the protocol's client passes it on. */
export function rpcRefusal(code: (typeof REFUSAL)[keyof typeof REFUSAL], message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Whether something thrown is a no that the server may read as it stands. */
export function isRpcRefusal(thrown: unknown): thrown is Error {
  return thrown instanceof Error && 'code' in thrown && Object.values<unknown>(REFUSAL).includes(thrown.code);
}
