import { PassThrough } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { McpElicitationAnswer } from '../../src/mcp/config/answers.ts';
import { terminalElicit } from '../../src/mcp/index.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { terminalConfirm } from '../../src/security/index.ts';
import { openScreen } from '../support/screen.ts';
import { hostileText, ownWords } from '../tools/security/prompt-laws.ts';

/** A person at a terminal, who types one line at each prompt. */
async function answer(
  properties: JsonObject,
  lines: readonly string[],
  more: {
    readonly required?: readonly string[];
    readonly message?: string;
    readonly isTTY?: boolean;
    /** The page that it asks to open, instead of a form. */
    readonly url?: string;
  } = {},
) {
  const { required = [], message = 'Who are you?', isTTY = true, url } = more;
  const modes: boolean[] = [];
  const setRawMode = (mode: boolean): void => void modes.push(mode);
  const input = Object.assign(new PassThrough(), { isTTY, isRaw: false, setRawMode });
  const output = new PassThrough();
  let screen = '';
  output.on('data', (chunk) => (screen += String(chunk)));
  const schema = { type: 'object', properties, required };
  const answered = Promise.resolve(
    terminalElicit({ input, output })(
      url === undefined
        ? { server: 'forms', message, schema }
        : { mode: 'url', server: 'forms', message, url, origin: new URL(url).origin, schema },
      { signal: new AbortController().signal },
    ),
  );
  for (const line of lines) {
    for (let at = 0; at < 4; at += 1) await nextTick();
    input.write(line);
  }
  const result: McpElicitationAnswer = await answered;
  return { result, screen, modes };
}

test('a form is filled in field by field, shown as a whole and sent after a yes', async () => {
  const properties: JsonObject = {
    name: { type: 'string', title: 'Your name', description: 'As on the passport' },
    age: { type: 'integer', minimum: 18 },
    seat: { type: 'string', enum: ['window', 'aisle'], enumNames: ['By the window', 'By the aisle'] },
    meal: {
      type: 'string',
      oneOf: [
        { const: 'v', title: 'Vegetarian' },
        { const: 'm', title: 'Meat' },
      ],
      default: 'v',
    },
    extras: { type: 'array', items: { type: 'string', enum: ['bag', 'bike'] } },
    member: { type: 'boolean' },
    note: { type: 'string' },
  };
  const lines = ['y\r', 'Ada\r', '36\r', '2\r', '\r', '1, bike\r', 'n\r', '\r', 'y\r'];
  const { result, screen, modes } = await answer(properties, lines, { required: ['name', 'age'] });
  expect(result).toEqual({
    action: 'accept',
    content: { name: 'Ada', age: 36, seat: 'aisle', meal: 'v', extras: ['bag', 'bike'], member: false },
  });
  for (const text of [
    'An MCP server asks you:\n  | Who are you?',
    'Your name (name)',
    'As on the passport',
    '2 By the aisle',
    'age = 36',
  ])
    expect(screen).toContain(text);
  expect(modes.at(-1)).toBe(false);
});

test('what does not fit is asked for again, and says why', async () => {
  const properties: JsonObject = {
    age: { type: 'integer', minimum: 18 },
    mail: { type: 'string', format: 'email' },
    day: { type: 'string', format: 'date' },
    seat: { type: 'string', enum: ['window', 'aisle'] },
  };
  const lines = [
    'y\r',
    '\r',
    'old\r',
    '3\r',
    '36\r',
    'ada\r',
    'a@b.c\r',
    '2026-02-30\r',
    '2026-02-28\r',
    '7\r',
    'window\r',
    'y\r',
  ];
  const { result, screen } = await answer(properties, lines, { required: ['age', 'mail', 'day', 'seat'] });
  expect(result).toEqual({
    action: 'accept',
    content: { age: 36, mail: 'a@b.c', day: '2026-02-28', seat: 'window' },
  });
  expect(screen.match(/That does not fit/g)).toHaveLength(6);
  expect(screen).toContain('a value is needed');
  expect(screen).toContain('expected an e-mail address');
});

test.each([
  ['no to the question declines', ['n\r'], 'decline'],
  ['Enter alone declines', ['\r'], 'decline'],
  ['no to sending declines', ['y\r', 'Ada\r', 'n\r'], 'decline'],
  ['Ctrl-C at the question cancels', ['\u0003'], 'cancel'],
  ['Ctrl-C in a field cancels', ['y\r', 'Ad\u0003'], 'cancel'],
  ['Ctrl-D before sending cancels', ['y\r', 'Ada\r', '\u0004'], 'cancel'],
])('%s', async (_title, lines, action) => {
  const { result } = await answer({ name: { type: 'string' } }, lines);
  expect(result).toEqual({ action });
});

test('a question without fields is a yes or no', async () => {
  expect((await answer({}, ['y\r'])).result).toEqual({ action: 'accept', content: {} });
  expect((await answer({}, ['n\r'])).result).toEqual({ action: 'decline' });
});

test('without a terminal, and for what cannot be typed, it declines', async () => {
  expect((await answer({ name: { type: 'string' } }, [], { isTTY: false })).result).toEqual({ action: 'decline' });
  expect((await answer({ nested: { type: 'object' } }, [])).result).toEqual({ action: 'decline' });
});

test('a server cannot move the cursor or write over the question', async () => {
  const { screen } = await answer({ '\u001b[2Jname': { type: 'string' } }, ['n\r'], { message: '\u001b[1A\rSend? y' });
  expect(screen).not.toContain('\u001b');
  expect(screen).toContain('  | \\u001b[1A\\u000dSend? y');
});

test('a form and a confirmation are asked one after the other', async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const output = new PassThrough();
  let screen = '';
  output.on('data', (chunk) => (screen += String(chunk)));
  const { signal } = new AbortController();
  const allowed = terminalConfirm({ input, output })({ tool: 'write_file', args: {}, reason: 'why' });
  const agreed = Promise.resolve(
    terminalElicit({ input, output })({ server: 'forms', message: 'Sure?', schema: { type: 'object' } }, { signal }),
  );
  await nextTick();
  expect(screen).not.toContain('Sure?');
  input.write('y\r');
  expect(await allowed).toBe('allow-once');
  await expect.poll(() => screen).toContain('Send it?');
  input.write('y\r');
  expect(await agreed).toEqual({ action: 'accept', content: {} });
});

test('a question that is withdrawn is cancelled, on the screen or before its turn', async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const elicit = terminalElicit({ input, output: new PassThrough() });
  const question = { server: 'forms', message: 'Sure?', schema: { type: 'object' } };
  const [first, second] = [new AbortController(), new AbortController()];
  const answers = [elicit(question, { signal: first.signal }), elicit(question, { signal: second.signal })];
  await nextTick();
  second.abort();
  expect(await answers[1]).toEqual({ action: 'cancel' });
  first.abort();
  expect(await answers[0]).toEqual({ action: 'cancel' });
});

/** All that the form says itself, wherever its rows break. */
const OWN_WORDS = new RegExp(
  String.raw`^(?:(?:An MCP server asks you:|What you answer goes to this server\. Give it no passwords\.|Field \d of \d:|` +
    String.raw`That does not fit:|This would be sent:|A plain yes would be sent\.|To this server:|\.\.\. [\d,]+ (?:line|character)s? not shown \.\.\.|` +
    String.raw`! Not everything is shown: [\d,]+ more characters(?:, [\d,]+ more lines)?\.|(?:Answer\?|Send it\?) \[y/N\](?: y)?|Your answer:(?: ?[17])?)(?: |$))*$`,
);

test('nothing that a server writes into a form can pass for the form, at any width and when that changes', async () => {
  const size = fc.constantFrom({ columns: 40, rows: 30 }, { columns: 80, rows: 24 }, { columns: 23, rows: 20 });
  const form = fc.record({
    server: hostileText,
    message: hostileText,
    name: hostileText,
    title: hostileText,
    choice: hostileText,
  });
  await fc.assert(
    fc.asyncProperty(form, size, size, async ({ server, message, name, title, choice }, first, second) => {
      const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
      const output = Object.assign(new PassThrough(), first);
      const screen = openScreen(first);
      output.on('data', (chunk) => screen.write(String(chunk)));
      const properties = { [name]: { type: 'string', title, description: choice, enum: [choice, title] } };
      const schema = { type: 'object', properties, required: [name] };
      const answered = Promise.resolve(
        terminalElicit({ input, output })({ server, message, schema }, { signal: new AbortController().signal }),
      );
      for (const line of ['y\r', '7\r', '1\r', 'n\r']) {
        for (let at = 0; at < 4; at += 1) await nextTick();
        expect(ownWords(screen.written())).toMatch(OWN_WORDS);
        screen.resize(second);
        Object.assign(output, second).emit('resize');
        expect(ownWords(screen.written())).toMatch(OWN_WORDS);
        input.write(line);
      }
      await answered;
    }),
    { seed: 23, numRuns: 60 },
  );
});

test('a server with much to say cannot push its name off the screen', async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const size = { columns: 80, rows: 24 };
  const output = Object.assign(new PassThrough(), size);
  const screen = openScreen(size);
  output.on('data', (chunk) => screen.write(String(chunk)));
  const stop = new AbortController();
  const question = { server: 'forms', message: 'all is well\n'.repeat(500), schema: { type: 'object' } };
  const answered = Promise.resolve(terminalElicit({ input, output })(question, { signal: stop.signal }));
  await nextTick();
  expect(screen.visible()).toContain('An MCP server asks you:');
  expect(screen.visible()).toContain('  | forms');
  expect(ownWords(screen.visible())).toMatch(/! Not everything is shown: [\d,]+ more characters, 49\d more lines\./);
  stop.abort();
  expect(await answered).toEqual({ action: 'cancel' });
});

test('a form that is drawn anew says again whose question it is', async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const output = Object.assign(new PassThrough(), { columns: 80, rows: 24 });
  let written = '';
  output.on('data', (chunk) => (written += String(chunk)));
  const schema = { type: 'object', properties: { name: { type: 'string' } } };
  const stop = new AbortController();
  const question = { server: 'forms', message: 'Who are you?', schema };
  const answered = Promise.resolve(terminalElicit({ input, output })(question, { signal: stop.signal }));
  await nextTick();
  input.write('y\r');
  await expect.poll(() => written).toContain('Field 1 of 1');
  written = '';
  output.emit('resize');
  expect(written).toMatch(/Who are you\?[^]*forms[^]*Field 1 of 1[^]*Your answer: $/);
  stop.abort();
  await answered;
});

test('Ctrl-C at a form tells whoever cancels the run, Ctrl-D does not', async () => {
  const told: string[] = [];
  for (const key of ['\u0004', '\u0003']) {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
    const elicit = terminalElicit({ input, output: new PassThrough(), onInterrupt: () => told.push(key) });
    const question = { server: 'forms', message: 'Sure?', schema: { type: 'object' } };
    const answered = Promise.resolve(elicit(question, { signal: new AbortController().signal }));
    await nextTick();
    input.write(key);
    expect(await answered).toEqual({ action: 'cancel' });
  }
  expect(told).toEqual(['\u0003']);
});

test('what is typed into a field for a secret is shown as stars, also in what would be sent', async () => {
  const properties: JsonObject = {
    user: { type: 'string' },
    entry: { type: 'string', format: 'password', minLength: 4 },
    apiToken: { type: 'string' },
  };
  const lines = ['y\r', 'ada\r', 'abc\r', 'hunter22\r', 'tok-9\r', 'y\r'];
  const { result, screen } = await answer(properties, lines);
  expect(result).toEqual({ action: 'accept', content: { user: 'ada', entry: 'hunter22', apiToken: 'tok-9' } });
  expect(screen).toContain('user = "ada"');
  expect(screen).toContain('Your answer: ********');
  expect(screen).toContain('entry = "«hidden»"');
  for (const secret of ['hunter22', 'tok-9', 'abc']) expect(screen).not.toContain(secret);
});

test.each([
  ['y\r', { action: 'accept', content: {} }],
  ['\r', { action: 'decline' }],
  ['\u0003', { action: 'cancel' }],
])('a page is shown with its origin, and %j answers', async (typed, expected) => {
  const url = 'https://login.example.com/a?b=c';
  const { result, screen } = await answer({}, [typed], { url, message: 'Sign \u202ein\u001b[2J' });
  expect(result).toEqual(expected);
  expect(screen).toContain('The page is at:\n  | https://login.example.com\n');
  expect(screen).toContain(`  | ${url}\n`);
  expect(screen).toContain('Sign \\u202ein\\u001b[2J');
});
