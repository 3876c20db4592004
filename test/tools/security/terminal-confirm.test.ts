import { getEventListeners } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Confirm } from '../../../src/actors/ask-approval.ts';
import { terminalConfirm } from '../../../src/security/index.ts';
import { fakeTerminal, question } from './terminal.ts';

test('a person sees tool, arguments and reason, and how to answer', async () => {
  const { confirm, type, screen } = fakeTerminal();
  const decision = confirm(question());
  for (const text of [
    'write_file',
    '"path": "notes.txt"',
    '"text": "hello"',
    'is confirm.',
    'y = allow this once',
    'a = always allow',
    'n = deny',
  ]) {
    expect(screen()).toContain(text);
  }
  type('y\r');
  expect(await decision).toBe('allow-once');
});

test.each([
  ['y\r', 'allow-once'],
  ['y\n', 'allow-once'],
  ['Y\r\n', 'allow-once'],
  ['yes\r', 'allow-once'],
  [' y \r', 'allow-once'],
  ['a\r', 'always-allow'],
  ['A\n', 'always-allow'],
  ['always\r', 'always-allow'],
  ['n\r', 'deny'],
  ['N\r', 'deny'],
  ['no\r', 'deny'],
  ['\r', 'deny'],
  ['\n', 'deny'],
  ['  \r', 'deny'],
  ['ya\r', 'deny'],
  ['ye\r', 'deny'],
  ['yy\r', 'deny'],
  ['allow\r', 'deny'],
  ['ok\r', 'deny'],
  ['constructor\r', 'deny'],
  ['\u0003', 'deny'],
  ['y\u0003', 'deny'],
  ['\u0004', 'deny'],
  ['a\u007fy\r', 'allow-once'],
  ['y\u007f\r', 'deny'],
  ['\u007f\u007fy\r', 'allow-once'],
  ['\u001b[Ay\r', 'allow-once'],
  ['\ty\r', 'allow-once'],
])('%j means %s', async (keys, expected) => {
  const { confirm, type } = fakeTerminal();
  const decision = confirm(question());
  type(keys);
  expect(await decision).toBe(expected);
});

test('backspace takes back what was typed, and not the question', async () => {
  const { confirm, type, screen } = fakeTerminal();
  const decision = confirm(question());
  type('\u007f\u007fyes\u007f\u007f\r');
  expect(await decision).toBe('allow-once');
  expect(screen().split('\b \b')).toHaveLength(3);
});

test.each([
  ['日', 2],
  ['e\u0301', 1],
  ['x', 1],
])('backspace wipes %s as wide as it is', async (typed, columns) => {
  const { confirm, type, screen } = fakeTerminal();
  const decision = confirm(question());
  type(`${typed}${'\u007f'.repeat(typed.length)}y\r`);
  expect(await decision).toBe('allow-once');
  expect(screen().split('\b \b')).toHaveLength(columns + 1);
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
  const decision = asAgentOption({
    callId: '1',
    tool: 't',
    args: {},
    reason: 'because',
    context: { user: 7 },
    signal: new AbortController().signal,
  });
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

  test.each([
    ['ended', (input: PassThrough) => input.resume().end()],
    ['destroyed', (input: PassThrough) => input.destroy()],
  ])('when the input was %s before', async (_, finish) => {
    const input = Object.assign(new PassThrough({ autoDestroy: false }), { isTTY: true });
    finish(input);
    await nextTick();
    expect(await terminalConfirm({ input, output: new PassThrough() })(question())).toBe('deny');
  });

  test('when the arguments cannot be shown', async () => {
    const { confirm, type } = fakeTerminal();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    type('y\n');
    expect([await confirm(question({ args: circle })), await confirm(question({ args: { big: 1n } }))]).toEqual([
      'deny',
      'deny',
    ]);
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
    const decisions = [
      confirm(question({ tool: 'one' })),
      terminalConfirm({ input, output })(question({ tool: 'two' })),
    ];
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

describe('Ctrl-C', () => {
  test('denies, and tells whoever cancels the run before the next question is put', async () => {
    const stop = new AbortController();
    const { confirm, type, screen } = fakeTerminal({ onInterrupt: () => stop.abort() });
    const decisions = ['one', 'two'].map((tool) => confirm(question({ tool, signal: stop.signal })));
    type('\u0003');
    expect(await Promise.all(decisions)).toEqual(['deny', 'deny']);
    expect([screen().includes('Denied.'), screen().includes('two')]).toEqual([true, false]);
  });

  test.each(['n\r', '\u0004', 'y\r'])('is not what %j is', async (keys) => {
    let interrupts = 0;
    const { confirm, type } = fakeTerminal({ onInterrupt: () => (interrupts += 1) });
    const decision = confirm(question());
    type(keys);
    await decision;
    expect(interrupts).toBe(0);
  });

  test('at the end of the input nothing is cancelled either', async () => {
    let interrupts = 0;
    const { confirm, input } = fakeTerminal({ onInterrupt: () => (interrupts += 1) });
    const decision = confirm(question());
    input.end();
    expect([await decision, interrupts]).toEqual(['deny', 0]);
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
  test.each(['y\r', '\u0003', '\r'])('is left as it was found after %j', async (keys) => {
    const { confirm, type, input, output, modes } = fakeTerminal();
    const { signal } = new AbortController();
    const listeners = () =>
      ['keypress', 'end', 'close', 'error', 'finish', 'resize'].map((name) =>
        [input, output].map((stream) => stream.listenerCount(name)),
      );
    const before = listeners();
    const decision = confirm(question({ signal }));
    expect([modes, input.isPaused()]).toEqual([[true], false]);
    type(keys);
    await decision;
    expect([modes, input.isPaused(), listeners()]).toEqual([[true, false], true, before]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
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
