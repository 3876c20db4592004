import { expect, test } from 'vitest';
import { z } from 'zod';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { tool } from '../../src/tools/tool.ts';
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

const shapes = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('circle'), radius: z.number() }),
  z.object({ kind: z.literal('box'), sides: z.tuple([z.number(), z.number()]), label: z.string().optional() }),
]);

overEachTransport(() => {
  test('a tool that takes one of several objects is sent as one object, and its arguments are checked as it says', async () => {
    const ran: object[] = [];
    const area = tool({
      name: 'area',
      description: 'Area of a shape.',
      inputSchema: shapes,
      execute: (one) => ran.push(one),
    });
    const toolCalls = [
      { name: 'area', arguments: { kind: 'circle', sides: [1, 2] } },
      { name: 'area', arguments: { kind: 'box', sides: [1, 2] } },
    ];
    const { agent, server } = await agentOn([{ toolCalls }, 'Done.'], { tools: [area], plans: false });
    const { errorHistory } = await agent.run('Go.');
    expect(schemasIn(server.requests[0]?.text)).toEqual([
      {
        type: 'object',
        description: 'One of: {kind: "circle", radius} or {kind: "box", sides}.',
        properties: {
          kind: {
            anyOf: [
              { type: 'string', const: 'circle' },
              { type: 'string', const: 'box' },
            ],
          },
          radius: { type: 'number' },
          sides: {
            type: 'array',
            prefixItems: [{ type: 'number' }, { type: 'number' }],
            items: { type: 'number' },
            minItems: 2,
            maxItems: 2,
          },
          label: { type: 'string' },
        },
        required: ['kind'],
      },
    ]);
    expect(errorHistory).toMatchObject([{ tool: 'area', code: 'deserialization' }]);
    expect(ran).toEqual([{ kind: 'box', sides: [1, 2] }]);
  });
});
