import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const CHILD = join(import.meta.dirname, 'children', 'ask-in-terminal.ts');
const hasPty = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

/** A program in a real terminal: `type` presses keys, `until` waits for a text on the screen. */
function openTerminal() {
  const program = spawn('script', ['-qec', `'${process.execPath}' '${CHILD}'`, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void program.kill('SIGKILL'));
  let screen = '';
  program.stdout.on('data', (chunk) => (screen += String(chunk)));
  return {
    type: (keys: string) => program.stdin.write(keys),
    until: async (text: RegExp) => {
      await expect.poll(() => screen, { interval: 10, timeout: 10_000 }).toMatch(text);
    },
    pid: () => Number(/pid=(\d+);/.exec(screen)?.[1]),
    ended: once(program, 'exit'),
  };
}

test.skipIf(!hasPty)(
  'in a real terminal keys typed too early decide nothing, Ctrl-C denies, and the program ends by itself',
  async () => {
    const terminal = openTerminal();
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
