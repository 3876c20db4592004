import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { configuredModel } from '../../src/models/chat/chat-model.ts';
import { type ChatModelOptions, settleEndpoint } from '../../src/models/endpoint/endpoint.ts';
import { isOpenAIHost } from '../../src/models/endpoint/presets.ts';
import { startModelServer } from '../support/model-server.ts';
import { modelAt, overEachTransport, overOwnTransports } from '../support/transports.ts';

/** An agent at a server that answers once, and that server. */
async function agentAt(modelOf: (origin: string) => ReturnType<typeof modelAt>) {
  const server = await startModelServer(['Hello.']);
  onTestFinished(server.close);
  const agent = createAgent({ model: modelOf(server.origin), silent: true });
  onTestFinished(() => agent.close());
  return { server, agent };
}

overEachTransport(() => {
  test.each(['/v1?api-version=2', '/v1/?api-version=2'])(
    'the query of an address stays at the end: %s',
    async (path) => {
      const { server, agent } = await agentAt((origin) => modelAt({ baseURL: origin + path }));
      expect(await agent.run('Hi').orThrow()).toBe('Hello.');
      expect(server.requests[0]?.url).toBe('/v1/chat/completions?api-version=2');
      expect(new Set(server.otherPaths)).toEqual(new Set(['/v1/models']));
    },
  );
});

overOwnTransports(() => {
  const withUser = (more: Omit<ChatModelOptions, 'baseURL'>) => (origin: string) =>
    modelAt({ baseURL: `${origin.replace('//', '//ann:p%40ss-w%C3%B6rd@')}/v1`, ...more });
  const basic = `Basic ${Buffer.from('ann:p@ss-wörd').toString('base64')}`;

  test('a user and a password in the address are sent, and are secrets', async () => {
    const { server, agent } = await agentAt(withUser({}));
    expect(await agent.run(`Say p@ss-wörd, p%40ss-w%C3%B6rd and ${basic}.`).orThrow()).toBe('Hello.');
    expect(server.requests[0]?.headers.authorization).toBe(basic);
    expect(server.otherHeaders[0]?.authorization).toBe(basic);
    expect(server.requests[0]?.text).not.toMatch(/ss-w|Basic/);
  });

  test.each(['ann:', ':tr0ub4dor', 'ann:tr0ub4dor'])('%s is sent as it is, whichever part is missing', async (pair) => {
    const { server, agent } = await agentAt((origin) =>
      modelAt({ baseURL: `${origin.replace('//', `//${pair}@`)}/v1`, model: 'm' }),
    );
    expect(await agent.run('Say tr0ub4dor.').orThrow()).toBe('Hello.');
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from(pair).toString('base64')}`);
    expect(server.requests[0]?.text.includes('tr0ub4dor')).toBe(pair === 'ann:');
  });

  test('an address without a user sends none', async () => {
    const { server, agent } = await agentAt((origin) => modelAt({ baseURL: `${origin}/v1`, model: 'm' }));
    await agent.run('Hi').orThrow();
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  test.each<readonly [string, Omit<ChatModelOptions, 'baseURL'>, string]>([
    ['a key', { apiKey: 'sk-1234' }, 'Bearer sk-1234'],
    ['a header', { headers: { Authorization: 'Token abcd' } }, 'Token abcd'],
  ])('%s goes before the user of the address', async (_, more, sent) => {
    const { server, agent } = await agentAt(withUser({ model: 'm', ...more }));
    await agent.run('Hi').orThrow();
    expect(server.requests[0]?.headers.authorization).toBe(sent);
  });

  test('what stands around a key and a header, as a file of secrets has it, is not sent', async () => {
    const { server, agent } = await agentAt((origin) =>
      modelAt({ baseURL: `${origin}/v1`, model: 'm', apiKey: ' sk-1234\n', headers: { 'x-team': 'blue\n' } }),
    );
    expect(await agent.run('Hi').orThrow()).toBe('Hello.');
    expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer sk-1234', 'x-team': 'blue' });
  });

  test('a blank key is none', async () => {
    const { server, agent } = await agentAt((origin) => modelAt({ baseURL: `${origin}/v1`, model: 'm', apiKey: ' ' }));
    expect(await agent.run('Hi').orThrow()).toBe('Hello.');
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
    const hosted = createAgent({ model: configuredModel({ preset: 'openai', apiKey: '' }, {}), silent: true });
    expect((await hosted.run('Hi')).error).toMatchObject({
      code: 'auth',
      message: 'No API key for OpenAI: set OPENAI_API_KEY or the option apiKey.',
    });
  });
});

test('a hosted server without a path gets its own, and no key of the environment without TLS', () => {
  const env = { OPENAI_API_KEY: 'sk-env' };
  expect(settleEndpoint({ baseURL: 'https://api.openai.com' }, env)).toMatchObject({
    baseURL: 'https://api.openai.com/v1',
    apiKey: 'sk-env',
  });
  expect(settleEndpoint({}, { ...env, OPENAI_BASE_URL: 'https://api.openai.com/' })?.baseURL).toMatch(/com\/v1$/);
  expect(settleEndpoint({ baseURL: 'http://api.openai.com/v1' }, env)?.apiKey).toBeUndefined();
  expect(settleEndpoint({ baseURL: 'https://model.test' }, env)).toMatchObject({ baseURL: 'https://model.test' });
});

test('OpenAI’s regional servers are its own, and no others that look like them', () => {
  for (const url of ['https://api.openai.com/v1', 'https://eu.api.openai.com/v1']) expect(isOpenAIHost(url)).toBe(true);
  for (const host of ['euapi.openai.com', 'api.openai.com.model.test', 'mine.openai.azure.com'])
    expect(isOpenAIHost(`https://${host}/v1`)).toBe(false);
});
