import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/json/json.ts';
import { PendingRequests } from '../../src/mcp/wire/pending-requests.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { besideEachOther } from '../support/beside.ts';
import { COMPILED } from '../support/mcp/hostile-entry.ts';
import { watched } from '../support/mcp/hostile.ts';
import { agentWith } from '../support/mcp/modern.ts';
import { calls } from '../support/replies.ts';

besideEachOther();

const script = fileURLToPath(new URL('../support/mcp/python-server.ts', import.meta.url));
const python = { command: process.execPath, args: [script], env: COMPILED, policy: 'allow' } as const;

/** What a model is sent after it called a tool, all of it. */
async function sentAfter(tool: string, args: JsonObject = {}) {
  const model = scriptedModel([calls([`lab_${tool}`, args]), 'Done.'], { takesImages: true });
  const { agent, events } = agentWith(python, { model });
  await agent.ready();
  await agent.run('Go');
  const messages = model.requests[1]?.messages ?? [];
  const images = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content)).filter(isImage);
  const told = messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : [])).join('\n');
  return { told, images, events, tools: model.requests[0]?.tools };
}

const isImage = ({ type }: { readonly type: string }): boolean => type === 'image';

test.concurrent('defaults that do not fit their own schema, as Python has them, are left to the server', async () => {
  for (const given of [{ query: 'a' }, { query: 'a', lang: null, more: null }]) {
    const { told } = await sentAfter('find', given);
    expect(JSON.parse(told)).toEqual({ status: 'success', data: { query: 'a', page: 1 } });
  }
  const { told } = await sentAfter('find', { query: 'a', lang: 'de', limit: 3, more: { deep: true } });
  expect(JSON.parse(told).data).toEqual({ query: 'a', lang: 'de', limit: '3', more: { deep: true }, page: 1 });
});

test.concurrent('a property that is called `default` is no default', async () => {
  const { tools } = await sentAfter('plain');
  const find = tools?.find(({ name }) => name === 'lab_find');
  expect(find?.inputSchema).toMatchObject({
    properties: { column: { properties: { default: { type: 'string' }, const: { type: 'boolean' } } } },
  });
});

test.concurrent('ids of 19 digits keep them all, as text, and what else the result holds stays as it is', async () => {
  const { told } = await sentAfter('row');
  expect(JSON.parse(told)).toEqual({
    status: 'success',
    data: {
      id: '1234567890123456789',
      next: '1234567890123456790',
      name: '1234567890123456789',
      share: 0.12345678901234568,
    },
  });
});

test.concurrent('a whole number that fits its schema is no broken promise, however many digits it has', async () => {
  const { connection, oddities } = watched(python);
  expect(await connection.callTool('count')).toEqual({ status: 'success', data: { result: '9223372036854775809' } });
  expect(await connection.callTool('plain')).toEqual({ status: 'success', data: { result: 8 } });
  expect(oddities()).toEqual([]);
});

test.concurrent.each(['shot', 'shots'])(
  'an image that the structured content repeats is sent once, and never as text (%s)',
  async (tool) => {
    const { told, images, events } = await sentAfter(tool);
    expect(told).not.toContain('iVBORw0KGgo');
    expect(told.match(/follows as an image/g)).toHaveLength(1);
    expect(images).toHaveLength(1);
    expect(JSON.stringify(events.find(({ type }) => type === 'tool.finished'))).toContain('iVBORw0KGgo');
  },
);

test.concurrent('an image that is said to be image/jpg is sent as the JPEG that it is', async () => {
  const { images } = await sentAfter('jpg');
  expect(images).toMatchObject([{ url: expect.stringMatching(/^data:image\/jpeg;base64,\/9j\//) }]);
});

test.concurrent('an answer behind what was printed without an end of line is read, and what was printed is not', async () => {
  const { connection, oddities } = watched(python);
  expect(await connection.callTool('bar', {}, { timeoutMs: 3000 })).toEqual({ status: 'success', data: 'done' });
  expect(oddities()).toEqual(['noise', 'noise']);
});

test.concurrent('that a server answers a call which was cancelled is not worth a warning', async () => {
  const { connection, oddities } = watched(python);
  await connection.connect();
  const caller = new AbortController();
  const call = connection.callTool('silent', {}, { signal: caller.signal });
  await connection.callTool('plain');
  caller.abort();
  expect(await call).toMatchObject({ code: 'cancelled' });
  expect(await connection.callTool('plain')).toMatchObject({ data: { result: 8 } });
  expect(oddities()).toEqual([]);
});

test('of the requests that were given up only the latest are kept in mind', () => {
  const requests = new PendingRequests({ setTimeout: () => 0, clearTimeout: () => undefined });
  for (let id = 1; id <= 101; id++) {
    const request = requests.sent({ id, method: 'tools/call' });
    if (request !== null) requests.forget(request);
  }
  const late = (id: number) => requests.refused({ id, error: { code: 0, message: 'Request cancelled' } });
  expect([1, 2, 101, 101].map(late)).toEqual([false, true, true, false]);
});

test.concurrent('what an error of the protocol has beside its message is told, too', async () => {
  const { told } = await sentAfter('raises');
  expect(told).toContain('Internal error: boom in raises."');
});
