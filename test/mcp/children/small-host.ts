/**
 * Whole agents in a process with little memory, each with a server that misbehaves and one that does not. Arguments: the
 * form of the messages, then for each agent how its server misbehaves and the tool of it that is called, as `mode/tool`.
 * Prints what became of each as a line of JSON.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { createMcpConnection } from '../../../src/mcp/index.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { hostileEntry } from '../../support/mcp/hostile-entry.ts';
import { type WireForm, misbehaving } from '../../support/mcp/misbehaving.ts';
import { calls } from '../../support/replies.ts';

const [wanted = 'stdio', ...cases] = process.argv.slice(2);
const FORMS: readonly WireForm[] = ['stdio', 'json', 'sse'];
const form = FORMS.find((known) => known === wanted) ?? 'stdio';
const good = createMcpConnection('good', hostileEntry());
for (const one of cases) {
  const [mode = 'normal', tool = 'echo'] = one.split('/');
  // One after the other: the memory is for one.
  console.log(JSON.stringify({ case: one, ...(await outcomeOf(mode, tool)) }));
}
await good.disconnect();

async function outcomeOf(mode: string, tool: string): Promise<object> {
  const server = await misbehaving(form, mode);
  const model = scriptedModel([calls([`bad_${tool}`, {}]), calls(['good_echo', { text: 'all well' }]), 'Done.']);
  const agent = createAgent({
    model,
    mcpServers: { bad: { ...server.config, connectTimeoutMs: 85_000 }, good },
    permissions: { isAlwaysAllowed: () => false, add: () => undefined },
    silent: true,
  });
  // On a busy machine it takes longer than a run waits for it.
  await agent.ready();
  const { status, messages } = await agent.run('Use both.');
  // A stream beside the calls is read while they are made.
  if (mode === 'endless-stream') while (agent.mcp.bad?.state !== 'FAILED') await wait(20);
  // A line is known to have no end some time after the call has failed.
  if (form === 'stdio' && tool === 'endless') while (agent.mcp.bad?.state === 'READY') await wait(20);
  const { state, error } = agent.mcp.bad ?? {};
  const sent = model.requests[0]?.tools?.length ?? 0;
  const echo = mode === 'normal' ? await agent.mcp.bad?.callTool('echo') : undefined;
  const again = mode === 'normal' ? await agent.mcp.bad?.callTool(tool) : undefined;
  await agent.close();
  server.end();
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content).slice(0, 1000));
  return { status, results, state, code: error?.code, message: error?.message, sent, echo, again: again?.code };
}
