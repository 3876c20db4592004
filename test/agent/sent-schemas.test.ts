import { expect, test } from 'vitest';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { compatible, openaiChat } from '../models/ai-sdk/openai-wires.ts';
import { agentOver } from '../models/ai-sdk/wire-server.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { overEachTransport } from '../support/transports.ts';
import { agentOn } from './agent-on-server.ts';

const NOTHING = { type: 'object', properties: {} };
const args = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] } as const;
const tools = [
  fakeTool('look', [], { inputSchema: { type: 'object' } }),
  fakeTool('listen', [], { inputSchema: { description: 'nothing' } }),
  fakeTool('walk', [], { inputSchema: args }),
];
const wanted = [NOTHING, { ...NOTHING, description: 'nothing' }, args];

function schemasIn(text = ''): readonly object[] {
  const body: { readonly tools: readonly { readonly function: { readonly parameters: object } }[] } = JSON.parse(text);
  return body.tools.map((sent) => sent.function.parameters);
}

overEachTransport(() => {
  test('a tool without arguments, ours or of an MCP server, is sent with the empty properties that OpenAI requires', async () => {
    const { agent, server } = await agentOn(['Done.'], { tools, plans: false, mcpServers: { it: hostileEntry() } });
    expect(await agent.run('Go.')).toMatchObject({ status: 'answered' });
    const sent = schemasIn(server.requests[0]?.text);
    expect(sent.slice(0, 3)).toEqual(wanted);
    expect(sent.slice(3).length).toBeGreaterThan(3);
    for (const schema of sent.slice(3)) expect(schema).toEqual(NOTHING);
  });
});

test.each([compatible, openaiChat])('the same goes for providers of the AI SDK: $name', async (wire) => {
  const { agent, server } = await agentOver(wire, [{ text: 'Done.' }], { tools, plans: false });
  expect(await agent.run('Go.')).toMatchObject({ status: 'answered' });
  expect(schemasIn(server.requests[0]?.text)).toEqual(wanted);
});
