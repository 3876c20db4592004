import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { recover } from '../../src/recovery/recover.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls, envelope, plan } from '../support/replies.ts';

// The agents of the recorded runs. Their models are scripts, so that recording them anew gives the same files.
const agentOf = (options: AgentOptions, replies: readonly ScriptedReply[], mode: 'native' | 'json' = 'native') =>
  createAgent({ ...options, model: scriptedModel(replies, { toolCalling: mode }), seed: 1, silent: true });

const forecast = tool({
  name: 'get_forecast',
  description: 'The weather of the coming days in a city.',
  inputSchema: z.object({ city: z.string(), days: z.number().int().default(1) }),
  effects: 'none',
  execute: ({ city, days }) => ({ city, days, celsius: city === 'Oslo' ? 4 : 31 }),
});

/** Answers from what it knows. */
export const plainAnswer = () =>
  agentOf({ name: 'geographer', instructions: 'You answer in one sentence.' }, ['The capital of France is Paris.']);

/** Plans three steps, each built on the one before. */
export const planner = () => {
  const find = tool({
    name: 'find_customer',
    description: 'A customer by name.',
    inputSchema: z.object({ name: z.string() }),
    effects: 'none',
    execute: ({ name }) => ({ id: 7, name, city: 'London' }),
  });
  const sum = tool({
    name: 'sum_orders',
    description: 'What a customer has spent.',
    inputSchema: z.object({ customer: z.number().int() }),
    effects: 'none',
    execute: ({ customer }) => ({ customer, euros: 111.5 }),
  });
  const mail = tool({
    name: 'send_mail',
    description: 'Sends a mail.',
    inputSchema: z.object({ to: z.string(), euros: z.number() }),
    execute: ({ to }) => `sent to ${to}`,
  });
  return agentOf({ name: 'secretary', instructions: 'You look after customers.', tools: [find, sum, mail] }, [
    plan(
      ['find_customer', { name: 'Ada Lovelace' }],
      ['sum_orders', { customer: '$PREV.id' }],
      ['send_mail', { to: '$STEP_0.name', euros: '$PREV.euros' }],
    ),
    'Ada Lovelace has been thanked for 111.50 euros.',
  ]);
};

/** Writes JSON as small models do: broken, then cut off, then right. */
export const brokenJson = () =>
  agentOf(
    { name: 'weatherman', instructions: 'You know the weather.', tools: [forecast] },
    [
      "Sure!\n```json\n{'thought': 'I look it up', 'tool': 'get_forecast', 'tool_args': {'city': 'Oslo', 'days': '2',}}\n```",
      {
        content: '{"thought": "Austin too", "tool": "get_forecast", "tool_args": {"city": "Aus',
        finishReason: 'length',
      },
      envelope({ thought: 'Again.', tool: 'get_forecast', tool_args: { city: 'Austin', days: 2 } }),
      envelope({ thought: 'Done.', answer: 'It is 4 °C in Oslo and 31 °C in Austin.' }),
    ],
    'json',
  );

/** Its first source is offline; it finds another way. */
export const recovering = () => {
  const offline = tool({
    name: 'satellite',
    description: 'A picture of the sky.',
    execute: () => {
      throw Object.assign(new Error('the satellite is behind the moon'), { code: 'ENOSIGNAL' });
    },
  });
  return agentOf({ name: 'weatherman', instructions: 'You know the weather.', tools: [offline, forecast] }, [
    calls(['satellite']),
    calls(['get_forecast', { city: 'Oslo', days: 1 }]),
    'It is 4 °C in Oslo; the satellite could not be asked.',
  ]);
};

/** Its child cannot mend a tool and hands the failure up; the parent settles for part of the work. */
export const escalating = () => {
  const archive = tool({
    name: 'open_archive',
    description: 'Old weather.',
    onError: { executionError: recover.escalate('the archive is locked', 'high') },
    execute: () => {
      throw new Error('locked since 1987');
    },
  });
  const historian = agentOf({ name: 'historian', description: 'Knows the weather of the past.', tools: [archive] }, [
    calls(['open_archive']),
  ]);
  return agentOf(
    {
      name: 'weatherman',
      instructions: 'You know the weather.',
      children: [historian],
      onEscalation: ({ reason }, to) => to.partialResult(`Nothing before 1990: ${reason}.`),
    },
    [calls(['historian', { task: 'How warm was it in 1950?' }])],
  );
};

/** Asks the same again and again. */
export const looping = () => {
  const again = calls(['get_forecast', { city: 'Oslo', days: 1 }]);
  const options = { name: 'weatherman', instructions: 'You know the weather.', tools: [forecast] };
  return agentOf(options, [again, again, again, again]);
};

/** Its MCP server dies in the middle of a transfer, so that nobody knows whether it took place. */
export const onCrashingServer = () => {
  const server = fileURLToPath(new URL('children/ledger-server.ts', import.meta.url));
  return agentOf(
    {
      name: 'banker',
      instructions: 'You look after an account.',
      mcpServers: { ledger: { command: 'node', args: [server], policy: 'allow' } },
    },
    [
      calls(['ledger_transfer']),
      calls(['ledger_balance']),
      'There are still 100 euros: the transfer did not take place.',
    ],
  );
};

/** Asks a person before it pays. */
export const asking = () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays a bill.',
    inputSchema: z.object({ to: z.string(), euros: z.number() }),
    policy: 'confirm',
    execute: ({ to, euros }) => `paid ${euros} to ${to}`,
  });
  return agentOf(
    {
      name: 'banker',
      instructions: 'You pay bills.',
      tools: [pay],
      confirm: 'wait',
      permissions: { isAlwaysAllowed: () => false, add: () => undefined },
    },
    [
      calls(['pay', { to: 'printer', euros: 40 }], ['pay', { to: 'casino', euros: 4000 }]),
      'The printer is paid; the casino was refused.',
    ],
  );
};

/** Waits for something that never comes, until it is cancelled. */
export const waiting = () => {
  const wait = tool({
    name: 'wait_for_train',
    description: 'Waits until the train comes.',
    effects: 'none',
    execute: (_args, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('nobody waits')))),
  });
  return agentOf({ name: 'traveller', instructions: 'You wait for trains.', tools: [wait] }, [
    calls(['wait_for_train']),
  ]);
};

/** Looks at one city after the other, and runs out of steps. */
export const restless = () => {
  const cities = ['Oslo', 'Rome', 'Austin', 'Lima'];
  return agentOf(
    { name: 'weatherman', instructions: 'You know the weather.', tools: [forecast], maxSteps: 3 },
    cities.map((city) => calls(['get_forecast', { city, days: 1 }])),
  );
};
