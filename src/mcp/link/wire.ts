import type { JsonObject } from '../../json/json.ts';
import type { LinkFault, McpServerInfo } from './link.ts';
import type { Tickets } from './tickets.ts';

/** A JSON-RPC message, as far as a transport looks at it. */
export type WireMessage = Readonly<Record<string, unknown>>;

/** What the SDK's client needs of a transport; it sets the three callbacks itself. */
export interface WireTransport {
  start(): Promise<void>;
  send(message: WireMessage): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: WireMessage) => void) | undefined;
}

/** A transport with its bookkeeping: what is under way, whether it has died, what can be told of its end. */
export interface Wire<T> {
  readonly transport: T;
  readonly kind: McpServerInfo['transport'];
  readonly tickets: Tickets;
  /** Set when the wire has died: the fault that all later requests meet. */
  readonly dead: () => LinkFault | null;
  /** What helps to understand a failure: the end of stderr. */
  readonly evidence: () => JsonObject;
  /** Ends all that the SDK does not know of. */
  readonly end: (how: 'gently' | 'at-once') => Promise<void>;
}
