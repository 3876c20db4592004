/** A process in which a person signs in: it says at which address, and ends when it is done. */
import { createMcpConnection, fileTokenStore, oauth } from '../../../src/mcp/index.ts';

const [url = '', path = ''] = process.argv.slice(2);
const server = createMcpConnection('desk', { url, auth: oauth({ store: fileTokenStore({ path }) }) });
server.on('mcp.changed', ({ step }) => {
  if (step === 'AWAITING_USER') console.log(server.pendingLogin?.url);
});
console.log(await server.login());
await server.disconnect();
