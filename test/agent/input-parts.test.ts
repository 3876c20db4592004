import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent, type InputPart, type Model } from '../../src/index.ts';
import { fileJournal, memoryJournal, replay } from '../../src/journal/index.ts';
import { chatModel, ModelError } from '../../src/models/index.ts';
import { fakeTool, scriptedModel } from '../../src/testing/index.ts';
import { temporaryFolder } from '../journal/temporary-folder.ts';
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
    [[], /neither text nor an image or a file/],
    [[{ type: 'text', text: ' ' }], /neither text nor an image/],
    [[{ type: 'video' }], /part 0 .* type 'text', 'image' or 'file', and is of "video"/],
    [[{ type: 'file', url: 'file:///etc/passwd', mediaType: 'text/plain' }], /begins with https:/],
    [[{ type: 'file', url: 'data:application/pdf;base64,AAAA' }], /needs a mediaType/],
    [[{ type: 'file', data: 'AAAA', mediaType: 'pdf' }], /needs a mediaType/],
    [[{ type: 'file', data: 'not base64!', mediaType: 'application/pdf' }], /bytes or base64/],
    [[{ type: 'file', data: 'AAAA', mediaType: 'application/pdf', filename: 5 }], /a filename that is not text/],
    [[{ type: 'text' }], /part 0 .* must have a text/],
    [[{ type: 'image', url: 'file:///etc/passwd' }], /begins with https:/],
    [[{ type: 'image', url: 'data:text/html,x' }], /begins with https:/],
    [[{ type: 'image', url: 'https:' }], /valid address/],
    [[{ type: 'image', url: 'https://exa mple.com/a.png' }], /valid address/],
    [[{ type: 'file', url: 'http://:80', mediaType: 'text/plain' }], /valid address/],
    [[{ type: 'image', data: 'AAAA' }], /needs a mediaType/],
    [[{ type: 'image', data: 'not base64!', mediaType: 'image/png' }], /bytes or base64/],
    [5, /a text that is not blank/],
  ])('%j is refused', (input, problem) => {
    const agent = createAgent({ model: scriptedModel([], { takesImages: true, takesFiles: true }), silent: true });
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

const PDF = { mediaType: 'application/pdf', filename: 'bill.pdf' };
const URL_OF_PDF = 'data:application/pdf;base64,JVBERi0=';
const reading = (...replies: Parameters<typeof scriptedModel>[0]) => scriptedModel(replies, { takesFiles: true });

describe('an input with a file', () => {
  test.each([
    ['bytes', { data: new Uint8Array(Buffer.from('%PDF-')) }],
    ['base64', { data: 'JVBERi0=' }],
    ['an address of data', { url: URL_OF_PDF }],
  ])('reaches the model with its name, given as %s', async (_what, source) => {
    const model = reading('42 euros.', 'As I said.');
    const agent = createAgent({ model, silent: true });
    const run = agent.run([
      { type: 'text', text: 'What is to be paid?' },
      { type: 'file', ...PDF, ...source },
    ]);
    expect(await run).toMatchObject({ status: 'answered', result: '42 euros.' });
    const file = { type: 'file', ...PDF, url: URL_OF_PDF };
    const asked = [{ type: 'text', text: 'What is to be paid?' }, file];
    expect(model.requests[0]?.messages.at(-1)).toEqual({ role: 'user', content: asked });
    const again = replay(run.recording(), agent);
    expect(await again).toMatchObject({ result: '42 euros.' });
    expect(again.transitions()).toEqual(run.transitions());
    await agent.run('Really?');
    expect(model.requests[1]?.messages[1]).toEqual({ role: 'user', content: asked });
  });

  test('a run without a word is named by its files', async () => {
    const run = createAgent({ model: reading('A bill.'), silent: true }).run([
      { type: 'file', ...PDF, url: URL_OF_PDF },
    ]);
    await run;
    expect(run.recording()).toContain('"input":"[bill.pdf]"');
  });

  test('goes over the wire as the protocol has it, audio as audio', async () => {
    const server = await startModelServer(['A bill and a tune.']);
    onTestFinished(server.close);
    const model = chatModel({ baseURL: server.baseURL, model: 'reader', apiKey: 'none', files: true });
    await createAgent({ model, silent: true }).run([
      { type: 'file', ...PDF, url: URL_OF_PDF },
      { type: 'file', mediaType: 'audio/mpeg', data: 'AAAA' },
      { type: 'file', mediaType: 'audio/wav', data: 'BBBB' },
      { type: 'file', mediaType: 'text/csv', url: 'https://example.com/a.csv' },
    ]);
    expect(server.requests[0]?.body.messages.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'file', file: { filename: 'bill.pdf', file_data: URL_OF_PDF } },
        { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
        { type: 'input_audio', input_audio: { data: 'BBBB', format: 'wav' } },
        { type: 'file', file: { filename: 'file', file_data: 'https://example.com/a.csv' } },
      ],
    });
  });

  test.each([
    ['files', { type: 'file', ...PDF, url: URL_OF_PDF }, 'files-not-taken', { takesImages: true }],
    ['images', { type: 'image', url: URL_OF_PNG }, 'images-not-taken', { takesFiles: true }],
  ] as const)(
    '%s are not sent to a model that takes none, and the conversation lives on',
    async (_kind, part, code, takes) => {
      const model = scriptedModel(['Hi.'], takes);
      const agent = createAgent({ model, silent: true });
      expect(await agent.run([part])).toMatchObject({ status: 'failed', error: { code } });
      expect(model.requests).toEqual([]);
      expect(await agent.run('Hello')).toMatchObject({ result: 'Hi.' });
    },
  );

  test('a model that takes none is not asked in a conversation that has one already', async () => {
    const agent = createAgent({ model: reading('A bill.'), silent: true });
    await agent.run([{ type: 'file', ...PDF, url: URL_OF_PDF }]);
    const blind = scriptedModel(['Hi.']);
    agent.configure({ model: blind });
    expect(await agent.run('And now?')).toMatchObject({ status: 'failed', error: { code: 'files-not-taken' } });
    expect(blind.requests).toEqual([]);
    agent.clearHistory();
    expect(await agent.run('And now?')).toMatchObject({ result: 'Hi.' });
  });

  test('of several models only those are asked that take it', async () => {
    const down = { ...reading(), id: 'down', complete: () => Promise.reject(new ModelError('server-error', 'down')) };
    const blind = { ...scriptedModel([]), id: 'blind' };
    const able = { ...reading('A bill.'), id: 'able' };
    const agent = createAgent({ model: [down, blind, able], silent: true });
    expect(await agent.run([{ type: 'file', ...PDF, url: URL_OF_PDF }])).toMatchObject({ result: 'A bill.' });
    expect(blind.requests).toEqual([]);
  });
});

describe('images that wait for the next run', () => {
  const image: InputPart = { type: 'image', url: URL_OF_PNG };
  const asked: InputPart[] = [{ type: 'text', text: 'And this?' }, image];

  test('survive a crash of the process that holds them', async () => {
    await using folder = await temporaryFolder();
    const [here, there] = [join(folder.path, 'here'), join(folder.path, 'there')];
    const agentAt = (place: string, model: Model) =>
      createAgent({ name: 'seer', model, silent: true, journal: fileJournal(place) });
    const first = agentAt(
      here,
      seeing(() => new Promise<never>(() => undefined)),
    );
    const going = first.conversation('photos').run('Go');
    for await (const { type } of going) if (type === 'step.started') break;
    void first.conversation('photos').run(asked, { whenBusy: 'queue' });
    while (!going.recording().includes('message.queued')) await new Promise((resolve) => setTimeout(resolve, 2));
    // As a process leaves it that dies at this moment.
    cpSync(here, there, { recursive: true, filter: (path) => !path.includes('.lock') });

    const model = seeing('One.', 'Two.');
    const second = agentAt(there, model);
    expect(await second.conversation('photos').resume()).toMatchObject({ result: 'One.' });
    const runs = await second.conversation('photos').runs();
    expect(runs.map(({ state }) => state)).toEqual(['ended', 'ended']);
    expect(model.requests[1]?.messages.at(-1)?.content).toEqual(asked);
    void going.cancel();
    await going;
  });

  test('may be queued in a run by its handle, and by its id', async () => {
    const model = seeing('One.', 'Two.', 'Three.');
    const agent = createAgent({ model, silent: true, journal: memoryJournal() });
    const run = agent.conversation('photos').run('Go');
    const told = [run.queue(asked), agent.queue(run.runId, [image])];
    expect(await Promise.all(told)).toMatchObject([{ delivered: true }, { delivered: true }]);
    while (model.requests.length < 3) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(['Go', asked, [image]]);
  });

  test('are checked like those of a run', async () => {
    const run = createAgent({ model: seeing('One.'), silent: true }).run('Go');
    const queue = (input: unknown): unknown => Reflect.apply(run.queue, run, [input]);
    expect(() => queue([{ type: 'image', url: 'file:///etc/passwd' }])).toThrow(/^run.queue: part 0 .* begins with/);
    expect(() => queue(' ')).toThrow(/^run.queue: the input must be a text that is not blank/);
    await run;
  });
});
