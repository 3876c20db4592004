import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Message, ModelError } from '../../src/actors/model.ts';
import { chatModel } from '../../src/models/index.ts';
import { ask } from './ask.ts';
import { cases, seedOr } from '../support/soak.ts';

const RUNS = { numRuns: cases(150, 3000), seed: seedOr(1) };

/** A body that arrives in pieces of the given sizes. */
function inPieces(text: string, sizes: readonly number[]): Response {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  let turn = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, (at += sizes[turn++ % sizes.length] ?? 1)));
    },
  });
  return new Response(body);
}

const modelFor = (text: string, sizes: readonly number[]) =>
  chatModel({ baseURL: 'http://model.test/v1', model: 'm', fetch: () => Promise.resolve(inPieces(text, sizes)) });

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
const args = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
const call = fc.record({ id: fc.uuid(), name: fc.stringMatching(/^[a-z]\w{0,10}$/), args });

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const delta = (value: unknown, finish_reason: string | null = null) =>
  event({ choices: [{ delta: value, finish_reason }] });

/** Cuts a text at the given places, none of them within a character. */
function cut(text: string, every: number): readonly string[] {
  const characters = Array.from(text);
  return Array.from({ length: Math.ceil(characters.length / every) }, (_, at) =>
    characters.slice(at * every, (at + 1) * every).join(''),
  );
}

test('whatever text and calls a stream carries, and however it is cut, they come back as they were', async () => {
  const reply = fc.record({
    content: fc.string({ unit: 'binary' }),
    reasoning: fc.string(),
    calls: fc.array(call, { maxLength: 3 }),
    every: fc.integer({ min: 1, max: 9 }),
    sizes,
  });
  await fc.assert(
    fc.asyncProperty(reply, async ({ content, reasoning, calls, every, sizes: pieces }) => {
      const text = [
        ...cut(reasoning, every).map((part) => delta({ reasoning_content: part })),
        ...cut(content, every).map((part) => delta({ content: part })),
        ...calls.flatMap(({ id, name, args: value }, index) => [
          delta({ tool_calls: [{ index, id, function: { name, arguments: '' } }] }),
          ...cut(JSON.stringify(value), every).map((part) =>
            delta({ tool_calls: [{ index, function: { arguments: part } }] }),
          ),
        ]),
        delta({}, 'stop'),
        'data: [DONE]\n\n',
      ].join('');
      const read = await ask(modelFor(text, pieces), { stream: true });
      expect(read.content).toBe(content);
      expect(read.reasoning ?? '').toBe(reasoning);
      expect(
        (read.toolCalls ?? []).map(({ id, name, arguments: raw }) => ({
          id,
          name,
          args: typeof raw === 'string' ? JSON.parse(raw) : raw,
        })),
      ).toEqual(calls.map(({ id, name, args: value }) => ({ id, name, args: JSON.parse(JSON.stringify(value)) })));
    }),
    RUNS,
  );
});

test('a stream that is cut anywhere before its end is an error, or the whole reply, never a short one', async () => {
  const text = [
    delta({ content: 'The answer ' }),
    delta({ content: 'is 42.' }),
    delta({}, 'stop'),
    'data: [DONE]\n\n',
  ].join('');
  for (let end = 0; end < text.length; end += 1) {
    const outcome = await ask(modelFor(text.slice(0, end), [1000]), { stream: true }).catch((error: unknown) => error);
    if (outcome instanceof ModelError) expect(outcome.code).toBe('bad-response');
    else expect(outcome).toMatchObject({ content: 'The answer is 42.' });
  }
});

test('whatever a server sends, the outcome is a reply or a ModelError', async () => {
  const junk = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc.array(fc.json(), { maxLength: 4 }).map((values) => values.map((value) => `data: ${value}\n\n`).join('')),
    fc
      .record({ delta: fc.jsonValue(), message: fc.jsonValue(), finish_reason: fc.jsonValue() })
      .map((choice) => event({ choices: [choice], usage: choice.delta, error: choice.message })),
    fc
      .jsonValue()
      .map((value) => delta({ content: value, tool_calls: [value, { function: value }], reasoning: value }, 'stop')),
  );
  await fc.assert(
    fc.asyncProperty(junk, sizes, fc.boolean(), async (text, pieces, stream) => {
      const outcome = await ask(modelFor(text, pieces), { stream }).catch((error: unknown) => error);
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(ModelError);
      else expect(outcome).toMatchObject({ content: expect.any(String) });
    }),
    RUNS,
  );
});

test('whatever an error body holds, the outcome is a ModelError', async () => {
  const error = fc.oneof(
    fc.jsonValue(),
    fc.record({
      error: fc.record({ message: fc.jsonValue(), code: fc.jsonValue(), param: fc.jsonValue(), type: fc.jsonValue() }),
    }),
    fc.record({ detail: fc.jsonValue() }),
  );
  await fc.assert(
    fc.asyncProperty(error, fc.integer({ min: 300, max: 599 }), async (body, status) => {
      const fetch = () =>
        Promise.resolve(status === 304 ? new Response(null, { status }) : Response.json(body, { status }));
      const model = chatModel({ baseURL: 'http://model.test/v1', model: 'm', fetch });
      const outcome = await ask(model, { temperature: 0 }).catch((failure: unknown) => failure);
      expect(outcome).toBeInstanceOf(ModelError);
    }),
    RUNS,
  );
});

test('whatever became of a conversation since it was last sent, a request says what its messages say now', async () => {
  const bodies: string[] = [];
  const fetch = (_url: unknown, init?: RequestInit) => {
    bodies.push(typeof init?.body === 'string' ? init.body : '');
    return Promise.resolve(Response.json({ choices: [{ message: { content: 'ok' } }] }));
  };
  const model = chatModel({ baseURL: 'http://model.test/v1', model: 'm', fetch });
  const message = fc
    .record({ role: fc.constantFrom('user' as const, 'assistant' as const), content: fc.string() })
    .map((one) => Object.freeze({ ...one }));
  const change = fc.oneof(
    { weight: 5, arbitrary: fc.record({ grow: fc.array(message, { maxLength: 3 }) }) },
    fc.record({ fork: fc.nat({ max: 6 }) }),
    fc.record({ prune: fc.nat({ max: 2 }) }),
    fc.record({ system: fc.constantFrom('', 'Be brief.', 'Be kind.') }),
    fc.record({ replace: message }),
  );
  const apply = (messages: readonly Message[], system: string, one: object) => {
    if ('grow' in one && Array.isArray(one.grow)) return { system, messages: [...messages, ...one.grow] };
    if ('fork' in one) return { system, messages: messages.slice(0, Number(one.fork)) };
    if ('prune' in one) return { system, messages: messages.slice(Number(one.prune)) };
    if ('system' in one) return { system: String(one.system), messages };
    if ('replace' in one)
      return {
        system,
        messages: messages.map((old, at) => (at === 0 ? Object.freeze({ ...old, content: 'other' }) : old)),
      };
    return { system, messages };
  };
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 12 }), fc.boolean(), async (changes, frozen) => {
      let now: { readonly system: string; readonly messages: readonly Message[] } = { system: '', messages: [] };
      for (const one of changes) {
        now = apply(now.messages, now.system, one);
        const prompt: readonly Message[] = now.system === '' ? [] : [{ role: 'system', content: now.system }];
        const messages = [...prompt, ...now.messages];
        await ask(model, { messages: frozen ? Object.freeze(messages) : messages });
        const sent: { readonly messages: unknown } = JSON.parse(bodies.at(-1) ?? '{}');
        expect(sent.messages).toEqual(messages.map(({ role, content }) => ({ role, content })));
      }
    }),
    RUNS,
  );
});
