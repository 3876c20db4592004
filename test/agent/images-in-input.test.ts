import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/index.ts';
import { fileJournal, replay } from '../../src/journal/index.ts';
import { chatModel } from '../../src/models/index.ts';
import { fakeTool, scriptedModel } from '../../src/testing/index.ts';
import { startModelServer } from '../support/model-server.ts';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const URL_OF_PNG = `data:image/png;base64,${PNG.toString('base64')}`;
const seeing = (...replies: Parameters<typeof scriptedModel>[0]) => scriptedModel(replies, { takesImages: true });

describe('an input of text and images', () => {
  test.each([
    ['bytes', { data: new Uint8Array(PNG), mediaType: 'image/png' }],
    ['base64', { data: PNG.toString('base64'), mediaType: 'image/png' }],
    ['an address of data', { url: URL_OF_PNG }],
  ])('reaches the model in its order, given as %s', async (_what, image) => {
    const model = seeing('A cat.');
    const agent = createAgent({ model, silent: true });
    const run = agent.run([
      { type: 'text', text: 'What is this?' },
      { type: 'image', ...image },
    ]);
    expect(await run).toMatchObject({ status: 'answered', result: 'A cat.' });
    const asked = [
      { type: 'text', text: 'What is this?' },
      { type: 'image', url: URL_OF_PNG },
    ];
    expect(model.requests[0]?.messages.at(-1)).toEqual({ role: 'user', content: asked });
    expect(agent.history[0]).toEqual({ role: 'user', content: asked });
    const again = replay(run.recording(), agent);
    expect(await again).toMatchObject({ result: 'A cat.' });
    expect(again.transitions()).toEqual(run.transitions());
  });

  test('an address elsewhere is passed on as it is', async () => {
    const model = seeing('A dog.');
    await createAgent({ model, silent: true }).run([{ type: 'image', url: 'https://example.com/dog.png' }]);
    expect(model.requests[0]?.messages.at(-1)?.content).toEqual([
      { type: 'image', url: 'https://example.com/dog.png' },
    ]);
  });

  test('a model that takes none is not asked, and the error says what to do', async () => {
    const model = scriptedModel([]);
    const agent = createAgent({ model, silent: true });
    const result = await agent.run([{ type: 'image', url: URL_OF_PNG }]);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'images-not-taken' } });
    expect(result.error?.message).toContain('chatModel({ images: true })');
    expect(model.requests).toEqual([]);
  });

  test('goes over the wire as the protocol has it', async () => {
    const server = await startModelServer(['A cat.']);
    onTestFinished(server.close);
    const model = chatModel({ baseURL: server.baseURL, model: 'seer', apiKey: 'none', images: true });
    const agent = createAgent({ model, silent: true });
    await agent.run([
      { type: 'text', text: 'What is this?' },
      { type: 'image', url: URL_OF_PNG },
    ]);
    expect(server.requests[0]?.body.messages.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: URL_OF_PNG } },
      ],
    });
  });

  test('a large image is in the recording once, over many turns', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'signalbox-images-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const large = Buffer.alloc(60_000, 7).toString('base64');
    const look = () => ({ content: '', toolCalls: [{ name: 'look', arguments: {} }] });
    const model = seeing(look(), look(), 'Done.');
    const agent = createAgent({
      model,
      tools: [fakeTool('look', ['x', 'y'])],
      silent: true,
      journal: fileJournal(dir),
    });
    await agent.run([{ type: 'image', data: large, mediaType: 'image/png' }]);
    const [file = ''] = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
    const text = readFileSync(join(dir, file), 'utf8');
    expect(text.split(large)).toHaveLength(2);
    await agent.close();
  });

  test('text alone is text, as ever', async () => {
    const model = scriptedModel(['Hi.']);
    const run = createAgent({ model, silent: true }).run([
      { type: 'text', text: 'Hello' },
      { type: 'text', text: 'there' },
    ]);
    await run;
    expect(model.requests[0]?.messages.at(-1)).toEqual({ role: 'user', content: 'Hello\nthere' });
    expect(run.recording()).not.toContain('"content":[');
  });

  test.each<[unknown, RegExp]>([
    [[], /neither text nor an image/],
    [[{ type: 'text', text: ' ' }], /neither text nor an image/],
    [[{ type: 'video' }], /part 0 .* type 'text' or 'image', and is of "video"/],
    [[{ type: 'text' }], /part 0 .* must have a text/],
    [[{ type: 'image', url: 'file:///etc/passwd' }], /begins with https:/],
    [[{ type: 'image', url: 'data:text/html,x' }], /begins with https:/],
    [[{ type: 'image', data: 'AAAA' }], /needs a mediaType/],
    [[{ type: 'image', data: 'not base64!', mediaType: 'image/png' }], /bytes or base64/],
    [5, /a text that is not blank/],
  ])('%j is refused', (input, problem) => {
    const agent = createAgent({ model: seeing(), silent: true });
    expect(() => Reflect.apply(agent.run, agent, [input])).toThrow(problem);
  });

  test('images are not told to a run that goes on, but may wait for the next', async () => {
    const model = seeing('One.', 'Two.');
    const agent = createAgent({ model, silent: true });
    const first = agent.run('Go');
    expect(() => agent.run([{ type: 'image', url: URL_OF_PNG }], { whenBusy: 'steer' })).toThrow(/whenBusy: 'queue'/);
    const second = agent.run([{ type: 'image', url: URL_OF_PNG }], { whenBusy: 'queue' });
    expect(await first).toMatchObject({ result: 'One.' });
    expect(await second).toMatchObject({ result: 'Two.' });
    expect(model.requests[1]?.messages.at(-1)?.content).toEqual([{ type: 'image', url: URL_OF_PNG }]);
  });
});
