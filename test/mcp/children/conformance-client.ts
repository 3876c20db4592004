/** The client that the conformance suite drives: it gets the address of a server, and plays one scenario on it. */
import { createMcpConnection } from '../../../src/mcp/index.ts';

/** The tool that each scenario wants called; `initialize` is content with a connection. */
const CALLS: Readonly<Record<string, readonly [tool: string, args: Readonly<Record<string, number>>]>> = {
  tools_call: ['add_numbers', { a: 5, b: 3 }],
  'elicitation-sep1034-client-defaults': ['test_client_elicitation_defaults', {}],
  'sse-retry': ['test_reconnection', {}],
};

const url = process.argv.at(-1) ?? '';
const call = CALLS[process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''];
const server = createMcpConnection(
  'conformance',
  { url },
  // A person who agrees and fills nothing in.
  { elicit: () => Promise.resolve({ action: 'accept', content: {} }) },
);
if (!(await server.connect())) throw server.error ?? new Error('it did not connect');
if (call !== undefined) console.log(await server.call(...call));
await server.disconnect();
