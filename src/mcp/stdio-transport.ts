import { isJsonObject } from '../parsing/json.ts';
import type { McpTarget } from './config.ts';
import type { Line } from './line-reader.ts';
import type { LinkFault, McpOddity } from './link.ts';
import { type ServerProcess, startServer } from './server-process.ts';

/** A JSON-RPC message, as far as a transport looks at it. */
export type WireMessage = Readonly<Record<string, unknown>>;

/** What the transport tells beside messages. */
export interface StdioListeners {
  readonly onDown: (fault: LinkFault) => void;
  readonly onOddity: (oddity: McpOddity) => void;
  /** A message was too long and is lost; the text is its beginning and end. */
  readonly onSkipped: (line: Line & { readonly ok: false }) => void;
}

/** Talks JSON-RPC by lines to a program that it starts. One life: started once, closed once. */
export interface StdioTransport {
  start(onMessage: (message: WireMessage) => void): Promise<void>;
  send(message: WireMessage): Promise<void>;
  close(how: 'gently' | 'at-once'): Promise<void>;
  /** The end of what the program wrote to stderr. */
  stderr(): string;
}

/** Makes the transport; the program is started by `start`. */
export function createStdioTransport(
  target: McpTarget & { readonly kind: 'stdio' },
  listeners: StdioListeners,
): StdioTransport {
  let server: ServerProcess | null = null;
  return {
    async start(onMessage) {
      server = await startServer(target, {
        onExit: listeners.onDown,
        onLine: (line) => {
          if (!line.ok) return listeners.onSkipped(line);
          const read = readMessage(line.text);
          if (read.ok) onMessage(read.message);
          else if (line.text.trim() !== '') listeners.onOddity({ kind: read.kind, message: excerpt(line.text) });
        },
      });
    },
    send: (message) =>
      server?.write(`${JSON.stringify(message)}\n`) ?? Promise.reject(new Error('The transport was not started.')),
    close: async (how) => server?.end(how),
    stderr: () => server?.stderr() ?? '',
  };
}

type Read =
  | { readonly ok: true; readonly message: WireMessage }
  | { readonly ok: false; readonly kind: 'noise' | 'bad-message' };

function readMessage(text: string): Read {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value) && value.jsonrpc === '2.0') return { ok: true, message: value };
    return { ok: false, kind: 'bad-message' };
  } catch {
    return { ok: false, kind: text.trimStart().startsWith('{') ? 'bad-message' : 'noise' };
  }
}

function excerpt(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
