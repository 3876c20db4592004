import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { recover } from '../../src/recovery/recover.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { skill } from '../../src/tools/skill.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

const inputSchema = { type: 'object', properties: { euros: { type: 'integer' } }, required: ['euros'] };
type Given = Partial<Parameters<typeof tool<JsonObject>>[0]>;

/** A run whose model pays five euros, or calls as told, and what reached the tool. */
async function paid(given: Given, args: JsonObject = { euros: 5 }, options: AgentOptions = {}) {
  const ran: unknown[] = [];
  const made = tool({ name: 'pay', description: 'Pays.', inputSchema, execute: (used) => ran.push(used), ...given });
  const model = scriptedModel([calls(['pay', args]), 'Done.']);
  const run = createAgent({ model, tools: [made], silent: true, ...options }).run('Pay.');
  const { errorHistory } = await run;
  return { ran, run, errors: errorHistory.map(({ code, message }) => `${code}: ${message}`) };
}

test('a check may change the arguments in place: the tool gets them, and so does the person who is asked', async () => {
  const asked: unknown[] = [];
  const confirm: AgentOptions['confirm'] = ({ args }) => (asked.push(args), 'allow-once');
  const validateArgs: Given['validateArgs'] = (args) => void Object.assign(args, { to: 'Ann' });
  const { ran } = await paid({ validateArgs, policy: 'confirm' }, { euros: 5 }, { confirm });
  expect([asked, ran]).toEqual([[{ euros: 5, to: 'Ann' }], [{ euros: 5, to: 'Ann' }]]);
});

test('whoever is asked cannot change what runs, and the record of the question names no agent but a child', async () => {
  const confirm: AgentOptions['confirm'] = ({ args }) => (Object.assign(args, { euros: 500 }), 'allow-once');
  const { ran, run } = await paid({ policy: 'confirm' }, { euros: 5 }, { confirm });
  expect(ran).toEqual([{ euros: 5 }]);
  expect(run.recording()).not.toContain('"agent":""');
});

test('code that cannot say whether a person must approve is an error of the tool, not of the arguments', async () => {
  const needsApproval = () => {
    throw new Error('no database');
  };
  const { ran, errors } = await paid({ needsApproval });
  expect([ran, errors]).toEqual([[], ['execution: Tool execution failed: no database']]);
});

test('a cleaner may change the arguments in place', async () => {
  const clean = recover.sanitize((value) => Object.assign(Object(value), { euros: 7 }));
  const { ran } = await paid({ onError: { deserializationError: clean } }, { euros: 'seven' });
  expect(ran).toEqual([{ euros: 7 }]);
});

test('a function that chooses steps is asked once for each error, however many steps follow', async () => {
  let chosen = 0;
  const choose = () => {
    chosen += 1;
    return [recover.fix(() => null), recover.fix(() => ({ euros: 8 }))];
  };
  const { ran } = await paid({ onError: { deserializationError: choose } }, { euros: 'eight' });
  expect([chosen, ran]).toEqual([1, [{ euros: 8 }]]);
});

test('a repair agent made of code gets marks for secrets, and what it puts them into reaches the tool whole', async () => {
  const raw: unknown[] = [];
  const repairer = createAgent({
    name: 'repairer',
    implementedBy: (task) => (raw.push(task.raw), { euros: 9, pin: '«secret:1»' }),
  });
  const onError = { deserializationError: recover.fix(repairer) };
  const { ran } = await paid({ onError }, { euros: 'nine', pin: 'hunter2-hunter2' }, { secrets: ['hunter2-hunter2'] });
  expect(ran).toEqual([{ euros: 9, pin: 'hunter2-hunter2' }]);
  expect(JSON.stringify(raw)).toContain('«secret:1»');
  expect(JSON.stringify(raw)).not.toContain('hunter2');
});

test('a tool that throws at once does not end before those that were called before it', async () => {
  const made = (name: string, execute: () => unknown) => tool({ name, description: 'Works.', execute });
  const broken = made('broken', () => {
    throw new Error('no');
  });
  const model = scriptedModel([calls(['fine'], ['broken']), 'Done.']);
  const ended: string[] = [];
  for await (const event of createAgent({ model, tools: [made('fine', async () => 1), broken], silent: true }).run(
    'Go',
  ))
    if (event.type === 'tool.finished') ended.push(event.tool);
  expect(ended).toEqual(['fine', 'broken']);
});

test('a skill keeps the tools that it was made with', () => {
  const tools = [tool({ name: 'look', description: 'Looks.', execute: () => 1 })];
  const made = skill({ name: 'looking', tools });
  tools.length = 0;
  expect(made.tools.map(({ name }) => name)).toEqual(['look']);
});
