/**
 * A whole agent in a process with little memory, with a server that misbehaves and one that does not. Arguments: the
 * form of the messages, how the server misbehaves, the tool of it that is called. Prints what became of it as JSON.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { hostileEntry } from '../../support/mcp/hostile-entry.ts';
import { type WireForm, misbehaving } from '../../support/mcp/misbehaving.ts';
import { calls } from '../../support/replies.ts';

const [form = 'stdio', mode = 'normal', tool = 'echo'] = process.argv.slice(2);
const FORMS: readonly WireForm[] = ['stdio', 'json', 'sse'];
const server = await misbehaving(FORMS.find((known) => known === form) ?? 'stdio', mode);
const model = scriptedModel([calls([`bad_${tool}`, {}]), calls(['good_echo', { text: 'all well' }]), 'Done.']);
const agent = createAgent({
  model,
  mcpServers: { bad: server.config, good: hostileEntry() },
  permissions: { isAlwaysAllowed: () => false, add: () => undefined },
  silent: true,
});
const run = agent.run('Use both.');
const { status, errorHistory, messages } = await run;
// A stream beside the calls is read while they are made.
if (mode === 'endless-stream') while (agent.mcp.bad?.state !== 'FAILED') await wait(20);
const { state, error } = agent.mcp.bad ?? {};
const warnings: string[] = [];
for await (const event of run) if (event.type === 'warning') warnings.push(event.message);
const sent = model.requests[0]?.tools?.length ?? 0;
await agent.close();
server.end();
const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content).slice(0, 1000));
console.log(
  JSON.stringify({ status, errorHistory, results, state, code: error?.code, message: error?.message, warnings, sent }),
);
