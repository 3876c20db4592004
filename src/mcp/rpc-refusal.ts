/** A no to a request of a server, with the code that the protocol has for it. */
export class RpcRefusal extends Error {
  override readonly name = 'RpcRefusal';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Codes of JSON-RPC and MCP for a no. */
export const REFUSAL = { invalidParams: -32602, unknownMethod: -32601, internal: -32603, rejected: -1 } as const;
