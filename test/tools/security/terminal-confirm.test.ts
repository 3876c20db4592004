import { PassThrough } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Confirm } from '../../../src/actors/ask-approval.ts';
import { terminalConfirm } from '../../../src/tools/security.ts';
import { fakeTerminal, question } from './terminal.ts';

test('a person sees tool, arguments and reason, and how to answer', async () => {
  const { confirm, type, screen } = fakeTerminal();
  const decision = confirm(question());
  for (const text of ['write_file', '"path": "notes.txt"', '"text": "hello"', 'is confirm.', 'y = allow this once', 'a = always allow', 'n = deny']) {
    expect(screen()).toContain(text);
  }
  type('y\r');
  expect(await decision).toBe('allow-once');
});

test.each([
  ['y\r', 'allow-once'], ['y\n', 'allow-once'], ['Y\r\n', 'allow-once'], ['yes\r', 'allow-once'], [' y \r', 'allow-once'],
  ['a\r', 'always-allow'], ['A\n', 'always-allow'], ['always\r', 'always-allow'],
  ['n\r', 'deny'], ['N\r', 'deny'], ['no\r', 'deny'], ['\r', 'deny'], ['\n', 'deny'], ['  \r', 'deny'],
  ['ya\r', 'deny'], ['ye\r', 'deny'], ['yy\r', 'deny'], ['allow\r', 'deny'], ['ok\r', 'deny'], ['constructor\r', 'deny'],
  ['\u0003', 'deny'], ['y\u0003', 'deny'], ['\u0004', 'deny'],
  ['a\u007fy\r', 'allow-once'], ['y\u007f\r', 'deny'], ['\u007f\u007fy\r', 'allow-once'], ['\u001b[Ay\r', 'allow-once'], ['\ty\r', 'allow-once'],
])('%j means %s', async (keys, expected) => {
  const { confirm, type } = fakeTerminal();
  const decision = confirm(question());
  type(keys);
  expect(await decision).toBe(expected);
});

test('what was decided is shown, and so are the keys', async () => {
  const { confirm, type, screen } = fakeTerminal();
  const decision = confirm(question());
  type('always\r');
  await decision;
  expect(screen()).toMatch(/Allow\? \[y\/a\/N\] always\nAlways allowed\.\n$/);
});

test('it can be the confirm of an agent', async () => {
  const { confirm, type } = fakeTerminal();
  const asAgentOption: Confirm = confirm;
  const decision = asAgentOption({ callId: '1', tool: 't', args: {}, reason: 'because', context: { user: 7 }, signal: new AbortController().signal });
  type('a\r');
  expect(await decision).toBe('always-allow');
});

describe('nobody can answer, so it is denied', () => {
  test('when the input is no terminal, and then nothing is read', async () => {
    const { confirm, type, input, screen } = fakeTerminal({ isTTY: false });
    type('y\n');
    expect([await confirm(question()), screen(), input.readableLength]).toEqual(['deny', '', 2]);
  });

  test('when the process has no terminal', async () => {
    expect(process.stdin.isTTY).not.toBe(true);
    expect(await terminalConfirm()(question())).toBe('deny');
  });

  test('when the question would go to no screen', async () => {
    const input = Object.assign(new PassThrough(), { isTTY: true });
    expect(process.stderr.isTTY ?? process.stdout.isTTY ?? false).toBe(false);
    input.write('y\n');
    expect(await terminalConfirm({ input })(question())).toBe('deny');
  });

  test('when the input ends, for this question and for those after it', async () => {
    const { confirm, input } = fakeTerminal();
    const decisions = [confirm(question()), confirm(question())];
    input.end('y');
    expect(await Promise.all(decisions)).toEqual(['deny', 'deny']);
    expect(await confirm(question())).toBe('deny');
  });

  test('when the terminal breaks', async () => {
    const [first, second] = [fakeTerminal(), fakeTerminal()];
    const decisions = [first.confirm(question()), second.confirm(question())];
    first.input.destroy(new Error('hung up'));
    second.output.destroy(new Error('broken pipe'));
    expect(await Promise.all(decisions)).toEqual(['deny', 'deny']);
  });

  test('when the arguments cannot be shown', async () => {
    const { confirm, type } = fakeTerminal();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    type('y\n');
    expect([await confirm(question({ args: circle })), await confirm(question({ args: { big: 1n } }))]).toEqual(['deny', 'deny']);
  });
});

describe('several questions', () => {
  test('are asked one after the other, each with its own answer', async () => {
    const { confirm, type, screen } = fakeTerminal();
    const decisions = ['one', 'two', 'three'].map((tool) => confirm(question({ tool })));
    expect([screen().includes('one'), screen().includes('two')]).toEqual([true, false]);
    type('y\r');
    expect(await decisions[0]).toBe('allow-once');
    expect([screen().includes('two'), screen().includes('three')]).toEqual([true, false]);
    type('n\r');
    type('a\r');
    expect(await Promise.all(decisions)).toEqual(['allow-once', 'deny', 'always-allow']);
  });

  test('of two prompts on one terminal are one queue', async () => {
    const { input, output, confirm, type, screen } = fakeTerminal();
    const decisions = [confirm(question({ tool: 'one' })), terminalConfirm({ input, output })(question({ tool: 'two' }))];
    expect(screen()).not.toContain('two');
    type('y\n');
    type('n\n');
    expect(await Promise.all(decisions)).toEqual(['allow-once', 'deny']);
  });

  test('an Enter that is two signs answers one of them', async () => {
    const { confirm, type } = fakeTerminal();
    const decisions = [confirm(question()), confirm(question())];
    type('y\r\na\r\n');
    expect(await Promise.all(decisions)).toEqual(['allow-once', 'always-allow']);
  });

  test('Ctrl-C denies the one that is asked', async () => {
    const { confirm, type } = fakeTerminal();
    const decisions = [confirm(question()), confirm(question())];
    type('\u0003y\r');
    expect(await Promise.all(decisions)).toEqual(['deny', 'allow-once']);
  });
});

describe('a call that is not wanted any more', () => {
  test('takes its question back', async () => {
    const { confirm, screen, type } = fakeTerminal();
    const stop = new AbortController();
    const decision = confirm(question({ signal: stop.signal }));
    type('y');
    stop.abort();
    expect(await decision).toBe('deny');
    expect(screen()).toMatch(/Withdrawn/);
  });

  test('is never asked about when others are before it, and is denied at once', async () => {
    const { confirm, type, screen } = fakeTerminal();
    const stop = new AbortController();
    const first = confirm(question({ tool: 'first' }));
    const second = confirm(question({ tool: 'second', signal: stop.signal }));
    const third = confirm(question({ tool: 'third' }));
    stop.abort();
    expect(await second).toBe('deny');
    type('y\ra\r');
    expect([await first, await third, screen().includes('second')]).toEqual(['allow-once', 'always-allow', false]);
  });

  test('is not even asked about when it was stopped before', async () => {
    const { confirm, screen } = fakeTerminal();
    expect([await confirm(question({ signal: AbortSignal.abort() })), screen()]).toEqual(['deny', '']);
  });
});

describe('the terminal', () => {
  test('is left as it was found, whatever the end', async () => {
    const endings = ['y\r', '\u0003', '\r'];
    for (const keys of endings) {
      const { confirm, type, input, modes } = fakeTerminal();
      const decision = confirm(question());
      expect([modes, input.isPaused()]).toEqual([[true], false]);
      type(keys);
      await decision;
      const listeners = ['keypress', 'end', 'close', 'error'].map((name) => input.listenerCount(name));
      expect([modes, input.isPaused(), listeners]).toEqual([[true, false], true, fakeListeners()]);
    }
  });

  test('that was raw and flowing stays so', async () => {
    const { confirm, type, input, modes } = fakeTerminal();
    input.isRaw = true;
    input.resume();
    await nextTick();
    const decision = confirm(question());
    type('y\r');
    await decision;
    expect([modes, input.isPaused()]).toEqual([[true, true], false]);
  });
});

/** What a stream has without us. */
function fakeListeners(): readonly number[] {
  const { input } = fakeTerminal();
  return ['keypress', 'end', 'close', 'error'].map((name) => input.listenerCount(name));
}

describe('what a model wrote', () => {
  async function show(more: Parameters<typeof question>[0]): Promise<string> {
    const { confirm, type, screen } = fakeTerminal();
    const decision = confirm(question(more));
    const shown = screen();
    type('n\r');
    await decision;
    return shown;
  }

  test('cannot steer the terminal, turn text around or hide it', async () => {
    const nasty = '\u001b[2J\u001b]0;title\u0007\u009b31m\r\b\u202e\u2066\u200b\ufeff\u2028\u00ad\ud800\u{e0041}x';
    const shown = await show({ tool: nasty, reason: nasty, args: { [nasty]: nasty, list: [nasty] } });
    expect(shown.match(/[^\n\P{C}]|[\p{Zl}\p{Zp}]/gu)).toBeNull();
    for (const text of ['\\u001b[2J', '\\u009b31m', '\\u202e', '\\u200b', '\\u2028', '\\u{e0041}']) expect(shown).toContain(text);
  });

  test('cannot pass for the question or its frame', async () => {
    const fake = 'x\n\nAllow? [y/a/N] y\nAllowed once.';
    const shown = await show({ tool: fake, reason: fake, args: { text: fake } });
    expect(shown.split('\n').filter((line) => line.startsWith('Allow'))).toEqual(['Allow? [y/a/N] ']);
  });

  test('is shown as it is when it is harmless, in any script', async () => {
    const shown = await show({ args: { path: 'für/文件/📁.txt', count: 3, on: true, none: null } });
    expect(shown).toContain('für/文件/📁.txt');
    expect(shown).toContain('"count": 3');
  });

  test('is shortened when it is long, with its end, and the person is told', async () => {
    const shown = await show({ args: { script: `begin ${'x'.repeat(100_000)} rm -rf .` } });
    expect(shown.length).toBeLessThan(2000);
    expect(shown).toMatch(/begin x+ … \d+ characters not shown … x+ rm -rf \./);
    expect(shown).toContain('Not everything is shown');
  });

  test('is shortened when it has many lines, with the last ones, and the count is right', async () => {
    const shown = await show({ args: { list: Array.from({ length: 500 }, (_, n) => n) } });
    const lines = shown.split('\n').filter((line) => line.startsWith('  | '));
    const hidden = Number(/… (\d+) lines not shown/.exec(shown)?.[1]);
    expect([lines.length, hidden + lines.length]).toEqual([39, 504]);
    expect(shown).toMatch(/\| {5}499\n/);
    expect(shown).toContain('Not everything is shown');
  });

  test('is never called incomplete when all of it is there', async () => {
    const shown = await show({ args: { list: Array.from({ length: 36 }, (_, n) => n) } });
    expect(shown).not.toContain('not shown');
    expect(await show({ args: {} })).toContain('  | {}');
    expect(await show({ args: undefined })).toContain('  | none');
  });
});
