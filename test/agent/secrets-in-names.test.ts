import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Agent } from '../../src/agent/agent-types.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { skill } from '../../src/tools/skill.ts';
import { realServer } from '../support/mcp/real-servers.ts';
import { calls } from '../support/replies.ts';

const TOKEN = 'tr0ub4dor-and-3';

test('a server whose password is its name has tools that can be called, and its other secrets are hidden', async () => {
  const model = scriptedModel([calls(['memory_read_graph', {}]), `It is empty. ${TOKEN}`]);
  const server = {
    ...realServer('memory', []),
    env: { DB_PASSWORD: 'memory', API_TOKEN: TOKEN },
    policy: 'allow',
  } as const;
  const agent = createAgent({ model, mcpServers: { memory: server }, silent: true });
  onTestFinished(() => agent.close());
  const run = agent.run(`Read the memory with ${TOKEN}.`);
  expect(await run).toMatchObject({ success: true, toolsUsed: ['memory_read_graph'], result: `It is empty. ${TOKEN}` });
  expect(model.requests[0]?.tools?.map(({ name }) => name)).toContain('memory_read_graph');
  expect(JSON.stringify(model.requests[0]?.messages)).toContain('Read the memory with «secret:1».');
  expect(run.recording()).not.toContain(TOKEN);
  expect((await replay(run.recording(), agent)).success).toBe(true);
});

/** Agents of which each hands its task to the one below, and the last calls its tool. */
function nested(names: readonly string[], secrets: readonly string[]): { agent: Agent; asked: () => string[] } {
  const models = names.map((_name, at) =>
    scriptedModel([
      calls([names[at + 1] ?? 'look_in_cupboard', at + 1 < names.length ? { task: 'Look.' } : {}]),
      'Done.',
    ]),
  );
  const agent = names.reduceRight<Agent | null>(
    (below, name, at) =>
      createAgent({
        name,
        model: models[at],
        silent: true,
        ...(below === null ? { tools: [fakeTool('look_in_cupboard', ['tea'])] } : { children: [below] }),
        ...(at === 0 ? { secrets } : {}),
      }),
    null,
  );
  if (agent === null) throw new Error('There is no agent.');
  return { agent, asked: () => models.flatMap(({ requests }) => requests.map((request) => JSON.stringify(request))) };
}

test('eight agents down, no name is hidden by a secret of the first, and all else is', async () => {
  const names = ['first', 'second', 'third_postgres', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth'];
  const { agent, asked } = nested(names, ['postgres', 'cupboard', 'seventh', TOKEN]);
  const run = agent.run(`Look with ${TOKEN} in the cupboard.`);
  expect((await run).success).toBe(true);
  expect(asked()).toHaveLength(16);
  for (const request of asked()) expect(request).not.toContain(TOKEN);
  for (const text of [...asked(), run.recording()]) expect(text).not.toMatch(/_«|«_|»_/);
  expect(run.recording()).toContain('"look_in_cupboard"');
  expect(asked()[0]).toContain('Look with «secret:1» in the cupboard.');
});

test('a longer secret that holds a name is hidden, and so is one that no name holds', async () => {
  const model = scriptedModel(['The postgres-4711 of cupboards.']);
  const look = fakeTool('look_in_cupboard', []);
  const agent = createAgent({
    name: 'postgres',
    model,
    tools: [look],
    secrets: ['postgres-4711', 'cupboards'],
    silent: true,
  });
  const run = agent.run('Say postgres, postgres-4711 and cupboards.');
  await run;
  expect(model.requests[0]?.messages.at(-1)?.content).toBe('Say postgres, «secret:1» and «secret:2».');
});

test('a secret as long as a key is hidden, even where a tool is called by it', async () => {
  const [word, key] = ['a'.repeat(24), 'b'.repeat(25)];
  const model = scriptedModel(['Done.']);
  const tools = [fakeTool(`say_${word}`, []), fakeTool(`say_${key}`, [])];
  await createAgent({ model, tools, secrets: [word, key], silent: true }).run(`${word} ${key}`);
  expect(model.requests[0]?.messages.at(-1)?.content).toBe(`${word} «secret:1»`);
});

test('nor does the password of a server that is not there, or one that is the name of a skill, hide a name', async () => {
  const pack = skill({
    name: 'packing',

    instructions: 'Pack.',
    tools: [fakeTool('box', [])],
  });
  const told = async (env: Readonly<Record<string, string>>) => {
    const model = scriptedModel(['Done.']);
    const mcpServers = { postgres: { command: 'no-such-program', env } };
    await using agent = createAgent({ name: 'shipper', model, mcpServers, skills: [pack], silent: true });
    const run = agent.run('Ship with postgres and packing, shipper.');
    await run;
    const warnings = [];
    for await (const event of run) if (event.type === 'warning') warnings.push(event.message);
    return { messages: model.requests[0]?.messages, warnings };
  };
  const { messages, warnings } = await told({});
  expect(JSON.stringify(messages)).toContain('packing');
  expect(warnings.join(' ')).toContain("'postgres'");
  for (const word of ['postgres', 'packing', 'shipper'])
    expect(await told({ DB_PASSWORD: word })).toEqual({ messages, warnings });
});
