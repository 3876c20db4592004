import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createAgent, tool } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { calls } from '../support/replies.ts';
import { z } from 'zod';
import type { RunEvent, RunEventBody } from '../../src/machines/events/run-events.ts';
import { createReplyStream } from '../../src/parsing/stream/reply-stream.ts';
import { consoleOutput, type ConsoleOutputOptions } from '../../src/output/console/console-output.ts';
import { holdWrites } from '../../src/terminal/held-writes.ts';
import { outputListener } from '../../src/output/output-listener.ts';
import { callOf, eventsOf, repliedWith, resultOf, weatherRun } from './events.ts';
import { fakeStream, screenText } from './fake-terminal.ts';

const ESCAPE = '\u001b';

beforeEach(() => {
  for (const name of ['NO_COLOR', 'FORCE_COLOR']) vi.stubEnv(name, undefined);
  vi.stubEnv('TERM', 'xterm-256color');
});
afterEach(() => void vi.unstubAllEnvs());

function showOn(columns: number | undefined, events: readonly RunEvent[], options: ConsoleOutputOptions = {}): string {
  const stream = fakeStream(columns);
  const listen = outputListener(consoleOutput({ ...options, stream }), { model: 'practice' });
  for (const event of events) listen(event);
  return stream.text();
}

const WEATHER_SCREEN = `› How warm is it in Austin?
  practice, up to 20 steps

● Step 1 of 20
  thought  I need the weather.
  goal     Know the weather in Austin.
  · model.replied: PLANNING → DIRECT_EXECUTION
  ▸ get_weather
    arguments  {"city": "Austin"}
    result     21 degrees
  · tool.succeeded: DIRECT_EXECUTION → PLANNING

● Step 2 of 20
  · model.replied: PLANNING → COMPLETION

21 degrees.

2 of 20 steps taken.
`;

test('without a terminal a run is plain lines: no escape sequence, no spinner', () => {
  expect(showOn(undefined, weatherRun())).toBe(WEATHER_SCREEN);
});

test('in a terminal the same lines remain after the spinners have gone', () => {
  const written = showOn(80, weatherRun());
  expect(written).toContain('⠋');
  expect(screenText(written)).toBe(WEATHER_SCREEN);
});

test('a terminal gets colours', () => {
  expect(showOn(80, weatherRun())).toContain(`${ESCAPE}[1mHow warm is it in Austin?${ESCAPE}[22m`);
});

test.each([
  ['NO_COLOR takes the colours of a terminal away', { NO_COLOR: '1' }, 80, false],
  ['an empty NO_COLOR counts as not set', { NO_COLOR: '' }, 80, true],
  ['FORCE_COLOR colours what is no terminal', { FORCE_COLOR: '1' }, undefined, true],
  ['FORCE_COLOR=0 takes colours away', { FORCE_COLOR: '0' }, 80, false],
  ['FORCE_COLOR beats NO_COLOR', { FORCE_COLOR: '1', NO_COLOR: '1' }, 80, true],
  ['a dumb terminal gets no colours', { TERM: 'dumb' }, 80, false],
] as const)('%s', (_title, env, columns, colored) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  expect(showOn(columns, weatherRun()).includes(`${ESCAPE}[1m`)).toBe(colored);
});

test('a dumb terminal gets no spinner', () => {
  vi.stubEnv('TERM', 'dumb');
  expect(showOn(80, weatherRun())).toBe(WEATHER_SCREEN);
});

test('while a prompt stands in the terminal, lines wait for its answer and no spinner turns', () => {
  const stream = fakeStream(80);
  const shown = consoleOutput({ stream, color: false });
  const release = holdWrites(stream);
  shown.info('Allow? [y/a/N] y');
  shown.info('Second.');
  shown.startProgress('Asking the model');
  expect(stream.text()).toBe('');
  release();
  expect(stream.text()).toMatch(/Allow\? \[y\/a\/N\] y\n.*Second\./);
  expect(stream.text()).not.toContain('Asking');
  shown.startProgress('Asking again');
  expect(stream.text()).toContain('Asking again');
  shown.stopProgress();
});

test('what a tool says of how far it is cannot move the cursor, or begin a line', async () => {
  const stream = fakeStream(80);
  const copy = tool({
    name: 'copy',
    description: 'Copies.',
    inputSchema: z.object({}),
    execute: (_args, { reportProgress }) => {
      reportProgress({ progress: 1, total: 3, message: 'x\u001b[2J\u001b]0;t\u0007\u202e\ny' });
      return 'copied';
    },
  });
  const model = scriptedModel([calls(['copy', {}]), 'Copied.']);
  const output = consoleOutput({ stream, color: false });
  await createAgent({ tools: [copy], model, output, journal: memoryJournal() }).run('Copy.');
  expect(stream.text()).toContain('Running copy (1 of 3: x␛[2J␛]0;t␇<202e>␊y)…');
  const said = stream.text().replaceAll('\r\u001b[K', '');
  for (const sign of ['\u001b', '\u0007', '\u202e']) expect(said).not.toContain(sign);
});

test('what is being written is not erased by a spinner that somebody left on', () => {
  vi.useFakeTimers();
  const stream = fakeStream(80);
  const shown = consoleOutput({ stream, color: false });
  shown.startProgress('Starting');
  shown.streamToken('Two files ');
  vi.advanceTimersByTime(1_000);
  shown.streamToken('are here.');
  vi.advanceTimersByTime(1_000);
  shown.streamEnd();
  vi.useRealTimers();
  expect(screenText(stream.text())).toBe('Two files are here.\n\n');
});

test('long text is broken between words and stands below its own beginning', () => {
  const text = 'The list of files is long, so I ask for the sizes and look for the largest.';
  expect(screenText(showOn(40, eventsOf([{ type: 'thought', text }])))).toBe(
    [
      '  thought  The list of files is long, so',
      '           I ask for the sizes and look',
      '           for the largest.',
      '',
    ].join('\n'),
  );
});

test('a label that leaves no room for its text gets a line of its own', () => {
  const stream = fakeStream(30);
  consoleOutput({ stream, color: false }).json('It is warm there today.', 'Result of get_weather(Austin)');
  expect(stream.text()).toBe('    result of get_weather(Aust\n      It is warm there today.\n');
});

test('a terminal that does not know its width is taken for one of 80 columns', () => {
  const events = eventsOf([{ type: 'goal', text: 'word '.repeat(30) }]);
  expect(showOn(0, events)).toBe(showOn(80, events));
  expect(showOn(0, events)).not.toBe(showOn(40, events));
});

test('wide characters count twice, a combined emoji once', () => {
  const lines = screenText(
    showOn(
      20,
      eventsOf([
        { type: 'goal', text: '天気を調べる' },
        { type: 'goal', text: '👩‍👩‍👧‍👧👩‍👩‍👧‍👧' },
      ]),
    ),
  );
  expect(lines).toBe('  goal     天気を調\n           べる\n  goal     👩‍👩‍👧‍👧👩‍👩‍👧‍👧\n');
});

test.each([
  ['colours', `${ESCAPE}[31mred`, '␛[31mred'],
  ['a window title', `${ESCAPE}]0;gotcha\u0007`, '␛]0;gotcha␇'],
  ['a backspace', 'rm\b\bls', 'rm␈␈ls'],
  ['an eight-bit sequence', '\u009b2J', '<009b>2J'],
  ['reversed reading', 'a\u202Eb', 'a<202e>b'],
  ['what is not seen', 'a\u{E0072}\u00ADb\u200Bc', 'a<e0072><00ad>b<200b>c'],
])('%s in the text of a tool is shown, not obeyed', (_title, nasty, shown) => {
  const { started, finished } = callOf('c1', 'Austin', nasty);
  const bodies: readonly RunEventBody[] = [{ type: 'thought', text: nasty }, started, finished];
  const text = showOn(80, eventsOf(bodies), { color: false });
  expect(screenText(text).split(shown)).toHaveLength(3);
  // oxlint-disable-next-line no-control-regex -- none may be left
  expect(text.replaceAll('\r\u001b[K', '')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test('no argument that a model chose can break out of the label of a result', () => {
  const [first, second] = [callOf('c1', `${ESCAPE}[2J\n`, 'warm'), callOf('c2', 'Oslo', 'cold')];
  const text = showOn(undefined, eventsOf([first.started, second.started, first.finished]));
  expect(text).toContain('result of get_weather(␛[2J )');
});

test('a long result is shown in its first lines, with the number of those that are left out', () => {
  const { started, finished } = callOf('c1', 'Austin', Array.from({ length: 100 }, (_, n) => `line ${n}`).join('\n'));
  const text = showOn(undefined, eventsOf([started, finished]));
  expect(text).toContain('result     line 0\n               line 1\n');
  expect(text).toContain('… 93 more lines');
  expect(text).not.toContain('line 8');
});

test('data of any size and depth is shown shortened, at the cost of what is shown', () => {
  const wide = { items: Array.from({ length: 200_000 }, (_, id) => ({ id, text: 'x'.repeat(20) })) };
  const deep: unknown = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`);
  const stream = fakeStream();
  const output = consoleOutput({ stream });
  output.json(wide, 'Result');
  output.json(deep, 'Result');
  output.json('y'.repeat(1_000_000), 'Result');
  expect(stream.text().length).toBeLessThan(8_000);
  expect(stream.text()).toContain('{"items": [{"id": 0, "text": "xxxxxxxxxxxxxxxxxxxx"}, {"id": 1,');
});

test.each([
  ['nothing but its data', { status: 'success', data: { a: 1 } }, '{"a": 1}'],
  ['nothing but a message', { status: 'success', message: 'saved' }, 'saved'],
  ['nothing at all', { status: 'success' }, 'done'],
  ['more than its data', { status: 'success', data: 1, message: 'one' }, '{"data": 1, "message": "one"}'],
  ['only a part', { status: 'partial', data: 1 }, '{"status": "partial", "data": 1}'],
])('a result that holds %s is shown as short as can be', (_title, result, shown) => {
  const stream = fakeStream();
  consoleOutput({ stream }).json(result, 'Result');
  expect(stream.text()).toBe(`    result     ${shown}\n`);
});

/** A reply as it arrives in these pieces. */
const tokens = (...pieces: readonly string[]): RunEventBody[] => {
  const stream = createReplyStream();
  return pieces.map((text, index) => {
    const { thought, answer = '' } = stream.push(text);
    return { type: 'model.token', kind: 'text', attempt: 1, index, text, thought, answer };
  });
};

test('prose appears in a terminal while it arrives, and is not repeated as the answer', () => {
  const stream = fakeStream(80);
  const listen = outputListener(consoleOutput({ stream, color: false }));
  const events = eventsOf([
    ...tokens('21 deg', 'rees.'),
    repliedWith('21 degrees.'),
    { type: 'answer', text: '21 degrees.' },
  ]);
  for (const event of events.slice(0, 1)) listen(event);
  expect(stream.text()).toBe('21 ');
  for (const event of events.slice(1)) listen(event);
  expect(stream.text().trim()).toBe('21 degrees.');
});

test('an envelope that arrives is not shown raw; its answer is', () => {
  const text = '{"thought":"easy","answer":"21 degrees."}';
  const events = eventsOf(
    tokens(...(text.match(/.{1,7}/g) ?? [])).concat([repliedWith(text), { type: 'answer', text: '21 degrees.' }]),
  );
  expect(screenText(showOn(80, events)).trim()).toBe('21 degrees.');
});

test('once a reply that was not for people has arrived, nothing more is drawn', () => {
  vi.useFakeTimers();
  const stream = fakeStream(80);
  const output = consoleOutput({ stream });
  output.streamToken('{"rows":');
  vi.advanceTimersByTime(5_000);
  expect(stream.text()).toContain('Receiving the reply… 4 s');
  output.streamEnd();
  const drawn = stream.text();
  vi.advanceTimersByTime(1_000);
  expect(stream.text()).toBe(drawn);
  vi.useRealTimers();
});

test('a line that is printed beside a spinner takes its place, and the spinner goes on below', () => {
  vi.useFakeTimers();
  const stream = fakeStream(80);
  const output = consoleOutput({ stream, color: false });
  output.startProgress('Starting');
  output.info('The server is ready.');
  vi.advanceTimersByTime(100);
  expect(screenText(stream.text())).toMatch(/^ {2}i The server is ready\.\n⠙ Starting…$/);
  output.stopProgress();
  expect(screenText(stream.text())).toBe('  i The server is ready.\n');
  vi.useRealTimers();
});

test('with the answer turned off the console shows everything else', () => {
  const events = [...eventsOf(tokens('21 degrees.')), ...weatherRun()];
  const text = screenText(showOn(80, events, { answer: false }));
  expect(text).not.toContain('21 degrees.');
  expect(text).toContain('2 of 20 steps taken.');
});

test('a plan is listed once, and each further step is named when it begins', () => {
  const steps = [
    { tool: 'list_files', args: { path: '.' }, complete: true },
    { tool: 'read_file', args: { path: '$PREV.name' }, complete: true },
  ];
  const text = showOn(
    undefined,
    eventsOf([
      { type: 'plan.made', steps, iteration: 1 },
      { type: 'step.started', step: 2, limit: 20, kind: 'plan' },
      { type: 'step.started', step: 3, limit: 20, kind: 'plan' },
    ]),
  );
  expect(text).toBe(`  plan     1. list_files {"path": "."}
           2. read_file {"path": "$PREV.name"}

● Step 2 of 20

● Step 3 of 20
  plan     2. read_file {"path": "$PREV.name"}
`);
});

test('showStats shows the figures of each reply and of the run', () => {
  const text = showOn(undefined, eventsOf([repliedWith('21'), { type: 'run.finished', result: resultOf() }]), {
    showStats: true,
  });
  expect(text).toContain('  · 30 tokens in, 12 out, 41.3 tokens/s, first token after 0.35 s\n');
  expect(text).toContain('  · In all: 30 tokens in, 12 out, 1.20 s\n');
});

test('a stream that has gone is written to no more and ends nothing', () => {
  const errors: (() => void)[] = [];
  let writes = 0;
  const stream = {
    write: (_text: string, written?: (error?: Error | null) => void) => {
      writes += 1;
      written?.(new Error('EPIPE'));
    },
    once: (_event: 'error', listener: () => void) => void errors.push(listener),
    listenerCount: () => errors.length,
  };
  const output = consoleOutput({ stream });
  output.info('one');
  output.info('two');
  expect([writes, errors.length]).toEqual([1, 1]);
});
