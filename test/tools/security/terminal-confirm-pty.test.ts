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
/* oxlint-disable no-control-regex -- the screen is cleared by an escape sequence */
const CLEARED = /\u001b\[2J/;
const DRAWN_ANEW = /\u001b\[2J[^]*Allow\? \[[^\]]+\] $/;
/* oxlint-enable no-control-regex */
const LURE = {
  text: `${' '.repeat(64)}Tool: read_file${' '.repeat(65)}Allow? [y/a/N] y${' '.repeat(64)}Allowed once.`,
};

test.skipIf(!isLinux).each([LURE, ...CALLS])(
  'in a real terminal no call passes for the question, whatever its width and when that changes: %#',
  async (args) => {
    const terminal = openTerminal('ask-hostile.ts', { size: 'cols 40 rows 30', args });
    const screen = openScreen({ columns: 40, rows: 30 });
    let drawn = 0;
    const drawFrom = (start: RegExp): void => {
      drawn += start.exec(terminal.written().slice(drawn))?.index ?? 0;
      screen.write(terminal.written().slice(drawn));
      drawn = terminal.written().length;
    };
    await terminal.until(/Allow\? \[[^\]]+\] $/);
    drawFrom(/The agent wants/);
    expect(ownWords(screen.written())).toMatch(APPROVAL);
    for (const [columns, rows] of [
      [120, 40],
      [33, 44],
      [80, 24],
    ] as const) {
      screen.resize({ columns, rows });
      terminal.resize(columns, rows);
      // oxlint-disable-next-line no-await-in-loop -- one size after the other
      await expect.poll(() => terminal.written().slice(drawn), { interval: 10 }).toMatch(DRAWN_ANEW);
      drawFrom(CLEARED);
      expect(ownWords(screen.written())).toMatch(APPROVAL);
      expect(screen.written().filter((row) => row === '  | rm_everything')).toHaveLength(2);
    }
    terminal.type('y\r');
    await terminal.until(/decision=allow-once;/);
    expect((await terminal.ended)[0]).toBe(0);
  },
);
