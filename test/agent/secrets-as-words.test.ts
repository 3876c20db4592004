import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

const NAMED = 'tr0ub4dor-and-3';

test.each([
  ['a query of a URL', (text: string) => new URL(`http://db/?${new URLSearchParams({ password: text })}`).href],
  ['a whole URL', (text: string) => encodeURI(`http://db/${text}`)],
  ["Python's JSON", (text: string) => JSON.stringify({ text }).replaceAll('ü', String.raw`\u00fc`)],
])('a secret is found in %s', async (_what, written) => {
  const secret = 'for the tür/3!';
  const look = fakeTool('look', [written(secret)]);
  const use = fakeTool('use');
  const model = scriptedModel([calls(['look']), calls(['use', { it: '«secret:2»' }]), 'Done.']);
  const run = createAgent({ model, tools: [look, use], secrets: [secret], silent: true }).run('Look');
  await run;
  expect(JSON.stringify(model.requests[1]?.messages)).toContain('«secret:2»');
  expect(run.recording()).not.toMatch(/for.the.t/);
  expect(written(secret)).toContain(use.calls[0]?.it);
});

test.each(['secret', 'secret:1', 'hidden'])('marks stay whole where a secret is called %s', async (secret) => {
  const use = fakeTool('use', [{ as: `${NAMED} with ${secret}, «hidden»` }, 'used']);
  const model = scriptedModel([
    calls(['use', { one: `«secret:1» and ${secret}` }]),
    ({ messages }) => calls(['use', { seen: String(messages.at(-1)?.content) }]),
    'Done.',
  ]);
  const agent = createAgent({ model, tools: [use], secrets: [NAMED, secret], silent: true });
  const result = await agent.run(`It is ${NAMED}, and ${secret}.`);
  expect(result.success).toBe(true);
  expect(use.calls[0]).toEqual({ one: `${NAMED} and ${secret}` });
  expect(use.calls[1]?.seen).toContain(`${NAMED} with ${secret}`);
  const told = model.requests
    .at(-1)
    ?.messages.map(({ content }) => content)
    .join(' ');
  expect(told).not.toContain('««');
  expect(told).toContain('It is «secret:1», and «secret:2».');
});

test.each([
  'enabled',
  'required',
  'policy',
  'content',
  'arguments',
  'toolset',
  'allow-once',
  'servers',
  'timeout',
  'execution',
])('a variable that is called like a secret and is %s changes nothing of what a run does', async (word) => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    policy: 'confirm',
    inputSchema: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
    execute: ({ euros }) => {
      if (euros === 3) throw new Error('too much');
      return { paid: euros };
    },
  });
  const told = async (env: Readonly<Record<string, string>>) => {
    const turns = [{ euros: 1 }, {}, { euros: 3 }].map((args) => calls(['pay', args]));
    const model = scriptedModel([...turns, 'Done.']);
    const mcpServers = { bank: { command: 'no-such-program', env, policy: 'confirm' as const } };
    await using agent = createAgent({ model, mcpServers, tools: [pay], silent: true, confirm: () => 'allow-once' });
    const { result, errorHistory } = await agent.run('Pay', { context: null });
    return { result, errorHistory, messages: model.requests.at(-1)?.messages };
  };
  expect(await told({ USE_AUTH: word })).toEqual(await told({ USE_AUTH: '' }));
});

test.each([
  `sk-${'aB3'.repeat(7)}`,
  `sk_live_${'aB3'.repeat(6)}`,
  `ghs_${'aB3'.repeat(10)}`,
  `github_pat_${'aB_'.repeat(8)}`,
  `glpat-${'aB3'.repeat(7)}`,
  'xoxb-1234567890',
  'AKIAIOSFODNN7EXAMPLE',
  `AIza${'aB3-_'.repeat(7)}`,
  `hf_${'aB3'.repeat(10)}`,
  `npm_${'aB3'.repeat(12)}`,
  `rk_live_${'aB3'.repeat(6)}`,
  `gsk_${'aB3'.repeat(14)}`,
  `xai-${'aB3'.repeat(14)}`,
  `nvapi-${'aB_-'.repeat(10)}`,
])('%s looks like a key, and what is a sign shorter does not', async (key) => {
  const shorter = key.slice(0, key.startsWith('AKIA') || key.startsWith('AIza') || key.startsWith('npm') ? -1 : 12);
  const look = fakeTool('look', [key, { [key]: shorter }, new Error(`with ${key}.`)]);
  const model = scriptedModel([calls(['look']), calls(['look']), calls(['look']), `It is ${key}.`]);
  const agent = createAgent({ model, tools: [look], silent: true });
  const run = agent.run('Look');
  expect((await run).result).toBe(`It is ${key}.`);
  expect(run.recording()).not.toContain(key);
  expect(run.recording()).toContain(`"${shorter}"`);
  expect(model.requests.at(-1)?.messages.map(({ content }) => content)).toContain(
    '{"status":"success","data":"«secret:1»"}',
  );
});
