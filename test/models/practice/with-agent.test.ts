import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent, tool, type AgentOptions } from '../../../src/index.ts';
import { startPracticeModel } from '../../../src/cli/practice/start-practice-model.ts';

const server = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'));

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: (args) => ({ ...args, celsius: 21 }),
});

async function agentWith(options: AgentOptions) {
  const practice = await startPracticeModel();
  const agent = createAgent({ name: 'tester', model: practice.model, silent: true, ...options });
  onTestFinished(async () => {
    await agent.close();
    await practice.close();
  });
  return agent;
}

test.each(['native', 'json'] as const)(
  'in %s mode an agent answers rightly even when a listing was cut',
  async (toolCalling) => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'practice-')));
    onTestFinished(() => rm(folder, { recursive: true }));
    const names = Array.from({ length: 90 }, (_, at) => `file-${String(at)}.txt`);
    await Promise.all(names.map((name, at) => writeFile(join(folder, name), 'line\n'.repeat(at + 1))));
    await writeFile(join(folder, 'huge.txt'), 'a line of text\n'.repeat(2000));
    const agent = await agentWith({
      toolCalling,
      mcpServers: { files: { command: process.execPath, args: [server, folder] } },
    });

    const first = await agent.run('What is in this folder, and which file is the largest?');
    expect(first).toMatchObject({
      status: 'answered',
      toolsUsed: ['files_list_allowed_directories', 'files_list_directory_with_sizes'],
    });
    expect(first.result).toContain(`The folder ${folder} holds 91 files`);
    expect(first.result).toContain('The largest file is huge.txt with 29.30 KB.');

    const second = await agent.run('What are the first 2 lines of huge.txt?');
    expect(second.result).toBe(
      `${join(folder, 'huge.txt')} is longer than I get to see at once. Its first 2 lines are:\na line of text\na line of text`,
    );
  },
);

test.each(['native', 'json'] as const)('in %s mode an agent gets over every mistake', async (toolCalling) => {
  const agent = await agentWith({ toolCalling, tools: [weather] });
  const mistakes = [
    'broken-json',
    'truncated',
    'wrong-tool',
    'wrong-arguments',
    'empty',
    'prose',
    'error-500',
    'rate-limit',
    'hang-up',
    'reasoning',
    'no-tools',
  ];
  for (const mistake of mistakes) {
    const { status, result } = await agent.run(`What is the weather in Austin? practice:${mistake}`);
    expect([mistake, status, result]).toEqual([mistake, 'answered', '`get_weather` says: city Austin, celsius 21.']);
  }
  expect(await agent.run('What is the weather in Austin? practice:loop')).toMatchObject({
    reason: 'loop',
    stepsTaken: 4,
  });
});

test('a call that the practice model writes as text is run where a whole reply may be one', async () => {
  const task = 'What is the weather in Austin? practice:text-call';
  const [lenient, held] = await Promise.all([
    agentWith({ toolCalling: 'native', textCalls: 'whole-reply', tools: [weather] }),
    agentWith({ toolCalling: 'native', tools: [weather] }),
  ]);
  expect(await lenient.run(task)).toMatchObject({
    status: 'answered',
    result: '`get_weather` says: city Austin, celsius 21.',
  });
  const asked = held.run(task);
  const codes = new Set<string>();
  for await (const event of asked) if (event.type === 'warning' && event.code !== undefined) codes.add(event.code);
  expect([...codes]).toEqual(['text-call-not-run']);
  expect((await asked).messages.filter(({ toolCalls }) => toolCalls !== undefined)).toHaveLength(1);
});

test.each(['native', 'json'] as const)('in %s mode a plan is carried out and told', async (toolCalling) => {
  const agent = await agentWith({ toolCalling, tools: [weather] });
  const { result, planIterations } = await agent.run('plan: get the weather in Austin then get the weather in Oslo');
  expect(planIterations).toBe(1);
  expect(result).toBe('`get_weather` says: city Austin, celsius 21.\n`get_weather` says: city Oslo, celsius 21.');
});
