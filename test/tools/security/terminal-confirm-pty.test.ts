import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { openScreen } from '../../support/screen.ts';
import { APPROVAL, hostileText, ownWords } from './prompt-laws.ts';

const CHILDREN = join(import.meta.dirname, 'children');
const isLinux = process.platform === 'linux';

/** A program in a real terminal: `type` presses keys, `until` waits for a text among all that was written. */
function openTerminal(
  child: string,
  { size = 'cols 80 rows 24', args = {} }: { readonly size?: string; readonly args?: unknown } = {},
) {
  // Skipped in silence, these tests would protect nobody.
  if (spawnSync('script', ['--version']).status !== 0) throw new Error("no 'script' here: it comes with util-linux");
  const line = `stty ${size}; exec '${process.execPath}' '${join(CHILDREN, child)}'`;
  const program = spawn('script', ['-qec', line, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, SHELL: '/bin/sh', ARGS: JSON.stringify(args) },
  });
  onTestFinished(() => void program.kill('SIGKILL'));
  let written = '';
  program.stdout.setEncoding('utf8').on('data', (chunk: string) => (written += chunk));
  return {
    type: (keys: string) => program.stdin.write(keys),
    written: () => written,
    until: async (text: RegExp) => {
      await expect.poll(() => written, { interval: 10 }).toMatch(text);
    },
    pid: () => Number(/pid=(\d+);/.exec(written)?.[1]),
    /** What the window does when a person pulls at its corner. */
    resize: (columns: number, rows: number) => {
      const tty = /tty=([^;]+);/.exec(written)?.[1] ?? '';
      execFileSync('stty', ['-F', tty, 'cols', String(columns), 'rows', String(rows)]);
    },
    ended: once(program, 'exit'),
  };
}

test.skipIf(!isLinux)(
  'in a real terminal keys typed too early decide nothing, Ctrl-C denies, and the program ends by itself',
  async () => {
    const terminal = openTerminal('ask-in-terminal.ts');
    await terminal.until(/pid=\d+;/);
    terminal.type('y\ry\r');
    await terminal.until(/y\r\ny\r\n/);
    process.kill(terminal.pid(), 'SIGUSR2');
    await terminal.until(/\| first[^]*Allow\? /);
    terminal.type('a\r');
    await terminal.until(/Always allowed\.[^]*\| second[^]*Allow\? /);
    terminal.type('\u0003');
    await terminal.until(/decisions=always-allow,deny raw=false;/);
    expect((await terminal.ended)[0]).toBe(0);
  },
);

/** The same calls on every run: a real terminal is too slow for many. */
const CALLS = fc.sample(fc.dictionary(hostileText, hostileText, { minKeys: 1, maxKeys: 4 }), { seed: 40, numRuns: 4 });
const CLEARED = '\u001b[2J';
const ASKED = /Allow\? \[[^\]]+\] $/;
const LURE = {
  text: `${' '.repeat(64)}Tool: read_file${' '.repeat(65)}Allow? [y/a/N] y${' '.repeat(64)}Allowed once.`,
};

/** What a terminal of this size was sent. */
interface Step {
  readonly columns: number;
  readonly rows: number;
  readonly text: string;
}

/** The rows of a screen that has gone through these sizes. */
function drawn(steps: readonly Step[]): readonly string[] {
  const screen = openScreen(steps[0] ?? { columns: 80, rows: 24 });
  for (const { columns, rows, text } of steps) {
    screen.resize({ columns, rows });
    screen.write(text);
  }
  return screen.written();
}

test.skipIf(!isLinux).each([LURE, ...CALLS])(
  'in a real terminal no call passes for the question, whatever its width and when that changes: %#',
  async (args) => {
    const terminal = openTerminal('ask-hostile.ts', { size: 'cols 40 rows 30', args });
    const steps: Step[] = [];
    await terminal.until(ASKED);
    const first = terminal.written();
    steps.push({ columns: 40, rows: 30, text: first.slice(first.indexOf('The agent wants')) });
    expect(ownWords(drawn(steps))).toMatch(APPROVAL);
    for (const [columns, rows] of [
      [120, 40],
      [33, 44],
      [80, 24],
    ] as const) {
      const before = terminal.written().length;
      let rowsShown: readonly string[] = [];
      const shown = (): string => {
        const written = terminal.written();
        const from = written.lastIndexOf(CLEARED);
        if (from < before || !ASKED.test(written)) return 'It is not drawn anew yet.';
        const step = { columns, rows, text: written.slice(from) };
        rowsShown = drawn([...steps, step]);
        return ownWords(rowsShown);
      };
      terminal.resize(columns, rows);
      // Columns and rows are set one after the other, so that it may be drawn once more for half of the change.
      await expect.poll(shown, { interval: 10 }).toMatch(APPROVAL);
      expect(rowsShown.filter((row) => row === '  | rm_everything')).toHaveLength(2);
      steps.push({ columns, rows, text: terminal.written().slice(terminal.written().lastIndexOf(CLEARED)) });
    }
    terminal.type('y\r');
    await terminal.until(/decision=allow-once;/);
    expect((await terminal.ended)[0]).toBe(0);
  },
);
