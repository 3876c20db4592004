import { inspect } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { configuredModel } from '../../src/models/chat/chat-model.ts';
import { secretsOf } from '../../src/models/endpoint/endpoint.ts';
import { startModelServer } from '../support/model-server.ts';
import { ask } from './ask.ts';

test('a model’s key and the headers that carry one are known as secrets, and nothing else is', () => {
  const headers = { 'x-team': 'blue', Authorization: 'Bearer abc123', 'x-api-key': 'def456' };
  const model = configuredModel({ baseURL: 'http://model.test/v1', model: 'm', apiKey: 'sk-1', headers }, {});
  expect(secretsOf(model)).toEqual(['sk-1', 'Bearer abc123', 'abc123', 'def456']);
});

test('a key of the environment is one too', () => {
  expect(secretsOf(configuredModel({ preset: 'openai' }, { OPENAI_API_KEY: 'sk-2' }))).toEqual(['sk-2']);
});

test.each(['ollama', 'LM-Studio', 'sk-no-key-required', 'not-needed', 'x'])(
  'the key %s, which only fills the field for a server that needs none, may be talked about',
  async (apiKey) => {
    const refusal = { status: 400, body: { error: { message: `${apiKey} is out of memory` } } };
    await using server = await startModelServer([refusal, `See the docs of ${apiKey}.`]);
    const headers = { 'x-api-key': 'sk-very-secret' };
    const model = configuredModel({ baseURL: server.baseURL, model: 'm', apiKey, headers }, {});
    await using agent = createAgent({ model, silent: true });
    expect((await agent.run('Go')).result).toContain(`${apiKey} is out of memory`);
    await agent.run(`How do I install ${apiKey}? Not sk-very-secret.`);
    expect(server.requests[1]?.text).toContain(`How do I install ${apiKey}? Not «secret:1».`);
    expect(server.requests[1]?.headers['authorization']).toBe(`Bearer ${apiKey}`);
  },
);

test('a model shows nothing of it when it is printed', () => {
  const model = configuredModel({ baseURL: 'http://model.test/v1', model: 'm', apiKey: 'sk-hidden' }, {});
  expect(inspect(model, { depth: 9, showHidden: true })).not.toContain('sk-hidden');
  expect(secretsOf({ complete: () => Promise.resolve({ content: '' }) })).toEqual([]);
});

test('headers that the environment sets for OpenAI go to no other server', async () => {
  const server = await startModelServer(['ok']);
  process.env['OPENAI_CUSTOM_HEADERS'] = 'X-Gateway-Token: for OpenAI only';
  process.env['OPENAI_ORG_ID'] = 'org-1';
  onTestFinished(() => {
    delete process.env['OPENAI_CUSTOM_HEADERS'];
    delete process.env['OPENAI_ORG_ID'];
    return server.close();
  });
  await ask(configuredModel({ baseURL: server.baseURL, model: 'm' }, {}));
  const names = Object.keys(server.requests[0]?.headers ?? {});
  expect(names).not.toContain('x-gateway-token');
  expect(names).not.toContain('openai-organization');
});
