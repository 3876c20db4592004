// An MCP server that dies in the middle of a transfer, and has forgotten it when it is started again.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const server = new McpServer({ name: 'ledger', version: '1.0.0' });
server.registerTool(
  'balance',
  { description: 'What is on the account, in euros.', annotations: { readOnlyHint: true } },
  () => ({ content: [{ type: 'text', text: '100' }] }),
);
server.registerTool(
  'transfer',
  { description: 'Moves all money to the savings account.', annotations: { destructiveHint: true } },
  () => {
    console.error('ledger: out of memory');
    process.exit(7);
  },
);
await server.connect(new StdioServerTransport());
