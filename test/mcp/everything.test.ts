import { type ChildProcess, spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { McpServerConfig } from '../../src/mcp/config/config.ts';
import type { McpConnectionOptions } from '../../src/mcp/connection-types.ts';
import { type McpConnection, type McpElicitation, createMcpConnection } from '../../src/mcp/index.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { freePort } from '../support/free-port.ts';

let server: ChildProcess | null = null;
let url = '';

beforeAll(async () => {
  const port = await freePort();
  const { command, args = [] } = realServer('everything', ['streamableHttp']);
  server = spawn(command, args, { env: { ...process.env, PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] });
  url = `http://127.0.0.1:${port}/mcp`;
  await vi.waitUntil(() => fetch(url).then(isAnswer, () => false), { timeout: 45_000 });
});

function isAnswer({ status }: Response): boolean {
  return status === 400;
}

afterAll(() => void server?.kill('SIGKILL'));

describe.each(['stdio', 'Streamable HTTP'] as const)('the everything server over %s', (transport) => {
  const config = (): McpServerConfig => (transport === 'stdio' ? realServer('everything') : { url });
  /** One for all tests without options: the start of the server takes longer than they do. */
  let plain: McpConnection | null = null;
  afterAll(() => plain?.disconnect());

  const connected = async (options?: McpConnectionOptions): Promise<McpConnection> => {
    const connection =
      options === undefined
        ? (plain ??= createMcpConnection('every', config()))
        : createMcpConnection('every', config(), options);
    if (options !== undefined) onTestFinished(() => connection.disconnect());
    expect(await connection.connect()).toBe(true);
    return connection;
  };

  test('tells of itself and has its say in the system prompt', async () => {
    const { info } = await connected();
    expect(info).toMatchObject({
      title: 'mcp-servers/everything',
      transport: transport === 'stdio' ? 'stdio' : 'streamable',
    });
    expect(info?.instructions).toContain('Everything Server');
  });

  test('gives text, structured content, images and links in the result format', async () => {
    const every = await connected();
    expect(await every.callTool('get-sum', { a: 2, b: 3 })).toEqual({
      status: 'success',
      data: 'The sum of 2 and 3 is 5.',
    });
    expect((await every.callTool('get-structured-content', { location: 'Chicago' })).data).toMatchObject({
      humidity: expect.any(Number),
    });
    const image = await every.callTool('get-tiny-image');
    expect(image.data).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: 'image', mimeType: 'image/png' })]),
    );
    const links = await every.callTool('get-resource-links', { count: 2 });
    expect(links.data).toEqual(expect.arrayContaining([expect.objectContaining({ type: 'resource_link' })]));
  });

  test('reports progress, and a wrong argument in its own words', async () => {
    const every = await connected();
    const steps: number[] = [];
    const io = { onProgress: ({ progress }: { readonly progress: number }) => void steps.push(progress) };
    expect(await every.callTool('trigger-long-running-operation', { duration: 0.2, steps: 3 }, io)).toMatchObject({
      status: 'success',
    });
    expect(steps).toEqual([1, 2, 3]);
    expect(await every.callTool('get-sum', { a: 'two' })).toMatchObject({
      status: 'error',
      error: expect.stringContaining('number'),
    });
  });

  test('leaves no timer behind when it is closed while calls are under way', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const every = await connected({});
    const call = () => {
      const seen = Promise.withResolvers<null>();
      const io = { onProgress: () => seen.resolve(null) };
      return {
        seen: seen.promise,
        ended: every.callTool('trigger-long-running-operation', { duration: 600, steps: 6000 }, io),
      };
    };
    const under = [call(), call()];
    await Promise.all(under.map(({ seen }) => seen));
    await every.disconnect();
    await Promise.all(under.map(({ ended }) => ended));
    expect(timers()).toBeLessThanOrEqual(before);
  });

  test('lets resources and prompts be read', async () => {
    const every = await connected();
    const [first] = await every.listResources();
    const uri = typeof first?.uri === 'string' ? first.uri : '';
    const [content] = await every.readResource(uri);
    expect(content?.text ?? content?.blob).toBeTruthy();
    expect((await every.listPrompts()).map(({ name }) => name)).toContain('args-prompt');
    const prompt = await every.getPrompt('args-prompt', { city: 'Austin' });
    expect(prompt.messages).toEqual([
      { role: 'user', content: { type: 'text', text: expect.stringContaining('Austin') } },
    ]);
    await expect(every.readResource('demo://nowhere')).rejects.toMatchObject({
      code: 'protocol-error',
      server: 'every',
    });
  });

  test('asks a person through us, and gets the answer', async () => {
    const asked: McpElicitation[] = [];
    const every = await connected({
      elicit: (question) => {
        asked.push(question);
        return Promise.resolve({ action: 'accept', content: { name: 'Ada', check: true } });
      },
    });
    await expect.poll(() => every.tools.map(({ name }) => name)).toContain('trigger-elicitation-request');
    const result = await every.callTool('trigger-elicitation-request');
    expect(JSON.stringify(result.data)).toContain('Ada');
    expect(asked[0]).toMatchObject({ server: 'every', schema: { type: 'object' } });
  });

  test('learns our roots, and is offered nothing that was not given', async () => {
    const every = await connected({ roots: () => [{ uri: 'file:///work', name: 'work' }] });
    await expect.poll(() => every.tools.map(({ name }) => name)).toContain('get-roots-list');
    expect(JSON.stringify((await every.callTool('get-roots-list')).data)).toContain('file:///work');
    const names = every.tools.map(({ name }) => name);
    expect(names).not.toContain('trigger-sampling-request');
    expect(names).not.toContain('trigger-elicitation-request');
  });

  test('stops working on a call that was cancelled', async () => {
    const every = await connected();
    const controller = new AbortController();
    const call = every.callTool(
      'trigger-long-running-operation',
      { duration: 30, steps: 30 },
      { signal: controller.signal },
    );
    controller.abort();
    expect(await call).toMatchObject({ code: 'cancelled' });
    expect(await every.callTool('echo', { message: 'next' })).toMatchObject({ data: 'Echo: next' });
  });
});
