/** A process with a login of its own store: it connects, says `ready`, and makes a call for each line that it is sent. */
import { createInterface } from 'node:readline';
import { createMcpConnection, fileTokenStore, oauth } from '../../../src/mcp/index.ts';

const [url = '', path = ''] = process.argv.slice(2);
const store = fileTokenStore({ path });
const server = createMcpConnection('desk', { url, auth: oauth({ store }) }, { offersLogin: false });
await server.connect();
console.log(server.state);
for await (const tool of createInterface({ input: process.stdin })) {
  const { status, code } = await server.callTool(tool);
  console.log(status === 'success' ? status : code);
}
await server.disconnect();
