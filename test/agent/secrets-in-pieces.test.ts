import { describe, expect, test } from 'vitest';
import { createAgent, tool } from '../../src/index.ts';
import type { Model, ModelToken } from '../../src/actors/model.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { eventsOf } from './agent-on-server.ts';

const NAMED = 'hunter2-very-secret';
const IN_URL = 'pass/word?17';
const KEY = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789';
const BLOCK = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEvQ+/'.repeat(40)}\n-----END RSA PRIVATE KEY-----`;

type Piece = string | Partial<ModelToken>;

/** The events of a run whose model tells its reply in these pieces. */
async function eventsFor(pieces: readonly Piece[], options: object = {}) {
  const tokens = pieces.map((piece): ModelToken => {
    return { kind: 'text', text: '', ...(typeof piece === 'string' ? { text: piece } : piece) };
  });
  const textOf = (kind: ModelToken['kind']): string =>
    tokens.flatMap((token) => (token.kind === kind ? [token.text] : [])).join('');
  const model: Model = {
    toolCalling: 'native',
    complete: async (_request, { onToken }) => {
      for (const token of tokens) onToken?.(token);
      const reasoning = textOf('reasoning');
      return { content: textOf('text'), ...(reasoning === '' ? {} : { reasoning }) };
    },
  };
  const agent = createAgent({ model, streaming: true, silent: true, secrets: [NAMED, IN_URL], ...options });
  return eventsOf(agent.run('What is it?'));
}

const tokensIn = (events: Awaited<ReturnType<typeof eventsFor>>) =>
  events.flatMap((event) => (event.type === 'model.token' ? [event] : []));

const cut = (text: string, size: number): readonly string[] => text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];

describe.each([
  ['named', NAMED, '«secret:1»'],
  ['as a URL spells it', encodeURIComponent(IN_URL), '«secret:3»'],
  ['that looks like a key', KEY, '«secret:3»'],
  ['of several lines', BLOCK, '«secret:3»'],
])('a secret %s', (_what, secret, mark) => {
  test.each([1, 2, 3, 7, 16, 400])('is a mark in what a reply says so far, %i characters at a time', async (size) => {
    const said = `It is ${secret}, and that is all.`;
    for (const kind of ['text', 'reasoning'] as const) {
      const pieces = [...cut(said, size).map((text) => ({ kind, text })), 'Done.'];
      const events = await eventsFor(pieces);
      const tokens = tokensIn(events);
      const sofar = tokens.map(({ thought, answer }) => (kind === 'text' ? answer : thought));
      for (const text of sofar) expect(text).not.toContain(secret.slice(0, 8));
      expect(sofar.every((text, index) => text.startsWith(sofar[index - 1] ?? ''))).toBe(true);
      expect(sofar.at(-1)).toContain(`It is ${mark}, and that is all.`);
      expect(tokens.map(({ text }) => text).join('')).toBe(`It is ${mark}, and that is all.Done.`);
      expect(tokens.map(({ index }) => index)).toEqual(tokens.map((_token, index) => index));
      expect(JSON.stringify(events)).not.toContain(secret);
    }
  });

  test('is a mark where a reply ends with it', async () => {
    const tokens = tokensIn(await eventsFor(cut(`It is ${secret}`, 5)));
    expect(tokens.at(-1)?.answer).toBe(`It is ${mark}`);
  });

  test('is one mark, however often it comes', async () => {
    const tokens = tokensIn(await eventsFor(cut(`${secret}\n${secret}\n`.repeat(3), 9)));
    expect(tokens.map(({ text }) => text).join('')).toBe(`${mark}\n`.repeat(6));
  });
});

test.each(['sk-', 'sk_live_', 'rk_test_', 'gsk_', 'xai-', 'nvapi-', 'ghp_', 'glpat-', 'xoxb-', 'AIza', 'hf_'])(
  'no beginning of a key that starts with %s is seen, however few characters come at a time',
  async (issuer) => {
    const key = issuer + 'aB3'.repeat(14).slice(0, issuer === 'AIza' ? 35 : undefined);
    for (const size of [1, 2, 5]) {
      const tokens = tokensIn(await eventsFor(cut(`It is ${key}, so.`, size), { secrets: [] }));
      expect(tokens.map(({ text }) => text).join('')).toBe('It is «secret:1», so.');
    }
  },
);

test('of secrets that begin or end alike each has its mark', async () => {
  const secrets = ['password', 'password-17', '17-password'];
  const said = 'password, password-17, 17-password; pass.';
  for (const size of [1, 3, 10]) {
    const tokens = tokensIn(await eventsFor(cut(said, size), { secrets }));
    const text = tokens.at(-1)?.answer ?? '';
    expect(new Set(text.match(/«secret:\d+»/g)).size).toBe(3);
    expect(text.replaceAll(/«secret:\d+»/g, '*')).toBe('*, *, *; pass.');
  }
});

test('a secret in pieces is a mark in what comes of a typed answer, too', async () => {
  const schema = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] } as const;
  const said = cut(JSON.stringify({ key: `${NAMED}!` }), 6);
  const events = await eventsFor(said, { outputSchema: schema, outputMode: 'prompt' });
  const partial = events.flatMap((event) => (event.type === 'output.partial' ? [event.output] : []));
  expect(partial.at(-1)).toEqual({ key: '«secret:1»!' });
  expect(JSON.stringify(events)).not.toContain(NAMED.slice(0, 10));
});

test('a tool gets the secret that a model called it with in pieces', async () => {
  const got: unknown[] = [];
  const use = tool({
    name: 'use',
    description: 'Uses.',
    inputSchema: { type: 'object' },
    execute: (args) => (got.push(args), 'fine'),
  });
  const model = scriptedModel([{ content: '', toolCalls: [{ name: 'use', arguments: { key: KEY } }] }, 'Done.']);
  const agent = createAgent({ model, tools: [use], streaming: true, silent: true });
  const events = await eventsOf(agent.run('Use it.'));
  expect(got).toEqual([{ key: KEY }]);
  expect(JSON.stringify(events)).not.toContain(KEY);
});

test.each([
  ['The sky is high and has an eye: skill, ghost, gitter, hfs, npm_i, AK-47, x', 1],
  ['A list:\n- one\n- two\n---\n-----\nsk-learn and xoxo', 2],
  ['-----BEGIN CERTIFICATE-----\nabc=\n-----END CERTIFICATE-----\nand -----BEGIN nothing.', 3],
  ['hunter', 4],
])('what is no secret comes as it is: %s', async (said, size) => {
  const pieces = cut(said, size);
  const tokens = tokensIn(await eventsFor(pieces));
  expect(tokens.map(({ text }) => text).join('')).toBe(said);
  expect(tokens.at(-1)?.answer).toBe(said);
  expect(tokens.length - pieces.length).toBeLessThanOrEqual(1);
});

test('where nothing looks like a secret, each piece comes at once', async () => {
  const pieces = ['It ', 'is ', 'a fine', ' day', '.'];
  const tokens = tokensIn(await eventsFor(pieces, { secrets: [] }));
  expect(tokens.map(({ text }) => text)).toEqual(pieces);
});

test('a word without an end that begins like a key is not kept waiting for it', async () => {
  const word = 'sk-'.repeat(100_000);
  const { length } = tokensIn(await eventsFor(cut(word, 1000)));
  expect(length).toBeGreaterThan(50);
  expect(length).toBeLessThan(150);
});

test('what waits is told with what comes next: no piece is empty but one that was', async () => {
  const words = tokensIn(await eventsFor(['I', ' ', 's', 'k', 'i', 'p', ' ', 'sk', '-', 'ip ', 'g']));
  expect(words.map(({ text }) => text)).toEqual(['I', ' ', 'skip ', 'sk-ip ', 'g']);
  const call = (text: string) => ({ kind: 'arguments', callIndex: 0, text }) as const;
  const pieces = [
    { ...call('gh'), tool: 'look' },
    call('ost"}'),
    { ...call(''), callIndex: 1, tool: 'other' },
    'Done.',
  ];
  const told = tokensIn(await eventsFor(pieces));
  expect(told.map(({ kind, text }) => `${kind} ${text}`)).toEqual(['arguments ghost"}', 'arguments ', 'text Done.']);
});

test('what waits of a typed answer is still of its tool, where the next piece does not name it', async () => {
  const schema = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } as const;
  const call = { kind: 'arguments', callIndex: 0 } as const;
  const pieces = [
    { ...call, tool: 'final_answer', text: '{"word":"gh' },
    { ...call, text: 'ost"}' },
  ];
  const events = await eventsFor(pieces, { outputSchema: schema, outputMode: 'tool' });
  const partial = events.flatMap((event) => (event.type === 'output.partial' ? [event.output] : []));
  expect(partial).toContainEqual({ word: 'ghost' });
});

test('a model whose words wait is not silent', async () => {
  const block = `-----BEGIN RSA PRIVATE KEY-----${'MIIE'.repeat(60)}-----END RSA PRIVATE KEY-----`;
  const model: Model = {
    complete: async (_request, { onToken }) => {
      for (const text of cut(block, 60)) {
        onToken?.({ kind: 'text', text });
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
      return { content: block };
    },
  };
  const limits = { timeouts: { responseMs: 150 }, retry: { maxAttempts: 1 } };
  const result = await createAgent({ model, streaming: true, silent: true, ...limits }).run('Talk');
  expect(result).toMatchObject({ status: 'answered' });
});
