import { PassThrough } from 'node:stream';
import { terminalConfirm } from '../../../src/tools/security.ts';

/** A terminal without a screen: keys go in with `type`, `screen` is what stands there. `modes` lists the raw modes set. */
export function fakeTerminal(more: { readonly isTTY?: boolean } = {}) {
  const modes: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY: more.isTTY ?? true,
    isRaw: false,
    setRawMode: (mode: boolean) => void modes.push(mode),
  });
  const output = new PassThrough();
  let shown = '';
  output.on('data', (chunk) => (shown += String(chunk)));
  const confirm = terminalConfirm({ input, output });
  return { input, output, modes, confirm, type: (keys: string) => void input.write(keys), screen: () => shown };
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
