import { PassThrough } from 'node:stream';
import { terminalConfirm } from '../../../src/security/index.ts';

/**
 * A terminal without a screen: keys go in with `type`, `screen` is what was written. `modes` lists the raw modes set, and
 * `resize` does what a person does who pulls at a corner of the window.
 */
export function fakeTerminal(
  more: {
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
    readonly onInterrupt?: () => void;
  } = {},
) {
  const modes: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY: more.isTTY ?? true,
    isRaw: false,
    setRawMode: (mode: boolean) => void modes.push(mode),
  });
  const output = Object.assign(new PassThrough(), { columns: more.columns ?? 100, rows: more.rows ?? 60, isTTY: true });
  let shown = '';
  output.on('data', (chunk) => (shown += String(chunk)));
  const { onInterrupt } = more;
  const confirm = terminalConfirm({ input, output, ...(onInterrupt === undefined ? {} : { onInterrupt }) });
  const type = (keys: string): void => void input.write(keys);
  const resize = (columns: number, rows: number): void => {
    Object.assign(output, { columns, rows }).emit('resize');
  };
  return { input, output, modes, confirm, type, resize, screen: () => shown };
}

/** A question as an agent asks it. */
export const question = (
  more: {
    readonly tool?: string;
    readonly args?: unknown;
    readonly reason?: string;
    readonly signal?: AbortSignal;
  } = {},
) => ({
  callId: 'call-1',
  tool: 'write_file',
  args: { path: 'notes.txt', text: 'hello' },
  reason: "The policy of 'write_file' is confirm.",
  ...more,
});
