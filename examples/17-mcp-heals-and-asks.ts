// A server that dies during one call and asks a person during another: the connection is restored, the read-only call is sent
// again, and the option `elicit` answers. This file is the agent and, when started with `server`, the server.
import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createAgent } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';

const [role, marker = ''] = process.argv.slice(2);
await (role === 'server' ? serve() : travel());

async function travel(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-'));
  const script = scriptedModel([
    { content: '', toolCalls: [{ name: 'train_free_seats', arguments: {} }] },
    { content: '', toolCalls: [{ name: 'train_book', arguments: { seat: '12A' } }] },
    'Seat 12A is booked for Ada.',
  ]);
  const agent = createAgent({
    model: process.env.SIGNALBOX_MODEL ?? script,
    mcpServers: {
      train: {
        command: process.execPath,
        args: [...process.execArgv, fileURLToPath(import.meta.url), 'server', join(folder, 'crashed')],
      },
    },
    // In a terminal, a form appears without any code; a service shows the question to its user.
    elicit: ({ message }) => {
      console.log(`  the server asks: ${message}`);
      return { action: 'accept', content: { name: 'Ada' } };
    },
  });
  await agent.ready();

  const run = agent.run('Book me a seat by the window.');
  for await (const event of run) {
    if (event.type === 'tool.started') console.log(event.tool);
    if (event.type === 'mcp.changed') console.log(`  ${event.server}: ${event.state}`);
    if (event.type === 'question.answered') console.log(`  it got: ${event.action} ${JSON.stringify(event.content)}`);
    if (event.type === 'tool.finished') console.log(`  done: ${JSON.stringify(event.result.data)}`);
  }
  console.log((await run).result);
  await agent.close();
  await rm(folder, { recursive: true });
}

async function serve(): Promise<void> {
  const server = new McpServer({ name: 'train', version: '1.0.0' });
  server.registerTool('free_seats', { annotations: { readOnlyHint: true } }, () => {
    if (!existsSync(marker)) {
      writeFileSync(marker, '');
      process.exit(1);
    }
    return { content: [{ type: 'text', text: '12A, 14F' }] };
  });
  server.registerTool('book', {}, async () => {
    const { action, content } = await server.server.elicitInput({
      message: 'In whose name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    });
    return {
      content: [{ type: 'text', text: action === 'accept' ? `booked for ${String(content?.name)}` : 'not booked' }],
    };
  });
  await server.connect(new StdioServerTransport());
}
