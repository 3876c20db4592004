import type { Run } from '../../agent/run/run.ts';
import { holdWrites } from '../../terminal/held-writes.ts';
import { holdKeys, inTurn, isAsking } from '../../terminal/prompt-terminal.ts';
import { erasing } from '../../terminal/text-width.ts';
import type { CliAgent } from '../agent/make-agent.ts';
import { type FinishedRun, runOnce } from '../agent/run-once.ts';
import type { Key } from 'node:readline';

/** What stands before what a person types. */
export const PROMPT = '› ';

/** A run that has ended in a chat. */
export interface ChatRun extends FinishedRun {
  /** What was typed meanwhile and did not reach the model; empty: nothing. */
  readonly unsent: string;
}

/** Whether a line is meant for the chat and not for the model. A path is not a command. */
export function isCommand(line: string): boolean {
  return /^\/[a-z]*$/i.test(line.trim());
}

/** Whether a person can type, and sees it. */
export function inTerminal(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Runs to the end what is started, and sends the run each line that is typed meanwhile. */
export async function runInChat(cli: CliAgent, start: (signal: AbortSignal) => Run): Promise<ChatRun> {
  const unsent: string[] = [];
  const sending: Promise<unknown>[] = [];
  let stop = (): string => '';
  const steer = async (run: Run, text: string): Promise<void> => {
    const sent = isCommand(text) ? null : run.steer(text).catch(() => null);
    if ((await sent)?.delivered !== true) unsent.push(text);
  };
  try {
    const finished = await runOnce(cli, (signal) => {
      const run = start(signal);
      if (cli.console !== null && inTerminal()) stop = takeLines(cli, (text) => sending.push(steer(run, text)));
      return run;
    });
    await Promise.all(sending);
    const typed = stop();
    const why = unsent.every(isCommand)
      ? 'A command is not sent to the model'
      : 'Your message came too late for the model';
    if (unsent.length > 0) console.error(`${why}. It is back at the prompt.`);
    return { ...finished, unsent: [...unsent, typed].join(' ').trim() };
  } finally {
    stop();
  }
}

const MAX_CHARS = 4000;

/**
 * Takes lines while a run writes to the same screen. What the run writes waits from the first key of a line to its Enter, and
 * keys that answer a question are left to that. The returned function ends it, and gives what stands in the line.
 */
function takeLines({ console: shown, interrupts }: CliAgent, onLine: (text: string) => void): () => string {
  const [input, output] = [process.stdin, process.stderr];
  const release = holdKeys(input);
  let line: readonly string[] = [];
  let close: (() => void) | null = null;

  const open = (): void => {
    shown?.stopProgress();
    void inTurn<null>({ input, output, lastKey: '' }, { signal: undefined, otherwise: null }, (done) => {
      const letWrite = holdWrites(output);
      output.write(`\n${PROMPT}`);
      close = () => {
        close = null;
        line = [];
        output.write('\n');
        letWrite();
        done(null);
      };
    });
  };
  const type = (sign: string): void => {
    line = [...line, sign];
    output.write(sign);
  };
  const erase = (): void => {
    const before = line.join('');
    line = line.slice(0, -1);
    output.write(erasing(before, line.join('')));
    if (line.length === 0) close?.();
  };
  const submit = (): void => {
    const text = line.join('').trim();
    close?.();
    if (text !== '') onLine(text);
  };
  const onKey = (sign: string | undefined, key: Key): void => {
    if (close === null && isAsking(input)) return;
    if (key.ctrl === true && key.name === 'c') interrupts.interrupt();
    else if (close !== null && (sign === '\r' || sign === '\n')) submit();
    else if (close !== null && key.name === 'backspace') erase();
    else if (sign !== undefined && /^\P{C}$/u.test(sign) && line.length < MAX_CHARS) {
      if (close === null) open();
      type(sign);
    }
  };
  // Before the listener of a question, which may be over when that has had the key.
  input.prependListener('keypress', onKey);
  return () => {
    const text = line.join('');
    close?.();
    input.off('keypress', onKey);
    release();
    return text;
  };
}
