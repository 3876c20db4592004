/** The client that the conformance suite drives: it gets the address of a server, and plays one scenario on it. */
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/json/json.ts';
import {
  type McpConnection,
  type McpHttpConfig,
  clientCredentials,
  createMcpConnection,
  fileTokenStore,
  oauth,
} from '../../../src/mcp/index.ts';

type Call = readonly [tool: string, args: JsonObject];

/** The tool that each scenario wants called; `initialize` is content with a connection, and some name their calls. */
const CALLS: Readonly<Record<string, Call>> = {
  tools_call: ['add_numbers', { a: 5, b: 3 }],
  'elicitation-sep1034-client-defaults': ['test_client_elicitation_defaults', {}],
  'sse-retry': ['test_reconnection', {}],
};

/** Scenarios of MCP 2026-07-28 that take any other greeting for a fault. */
const STATELESS: ReadonlySet<string> = new Set([
  'request-metadata',
  'http-standard-headers',
  'http-custom-headers',
  'http-invalid-tool-headers',
  'sep-2322-client-request-state',
]);

const url = process.argv.at(-1) ?? '';
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const context: Readonly<Record<string, string>> & {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
} = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}');
const isAuth = scenario.startsWith('auth/');
const call = CALLS[scenario] ?? (isAuth ? (['test-tool', {}] as const) : undefined);
const path = join(tmpdir(), `conformance-tokens-${process.pid}.json`);
const store = fileTokenStore({ path });

function authOf(): McpHttpConfig['auth'] {
  const { client_id: clientId = '', client_secret: clientSecret, private_key_pem: privateKey } = context;
  switch (scenario) {
    case 'auth/client-credentials-jwt':
      return clientCredentials({ clientId, privateKey, algorithm: context['signing_algorithm'] });
    case 'auth/client-credentials-basic':
      return clientCredentials({ clientId, clientSecret });
    case 'auth/enterprise-managed-authorization': {
      const { idp_client_id = '', idp_id_token = '', idp_token_endpoint = '' } = context;
      const idp = { clientId: idp_client_id, idToken: idp_id_token, tokenEndpoint: idp_token_endpoint };
      return clientCredentials({ clientId, clientSecret, identityProvider: idp });
    }
    case 'auth/pre-registration':
      return oauth({ clientId, clientSecret, store });
    case 'auth/basic-cimd':
      return oauth({ clientId: 'https://conformance-test.local/client-metadata.json', store });
    default:
      return isAuth ? oauth({ store }) : undefined;
  }
}

const server = createMcpConnection(
  'conformance',
  { url, auth: authOf(), ...(STATELESS.has(scenario) ? { protocolVersion: '2026-07-28' as const } : {}) },
  // A person who agrees and fills nothing in.
  { elicit: () => Promise.resolve({ action: 'accept', content: {} }) },
);
server.on('mcp.changed', ({ state, step, error }) => {
  console.log(state, step ?? '', error?.code ?? '');
  const { pendingLogin } = server;
  // A person who opens the address and agrees to everything: the suite's page sends them straight back.
  if (step === 'AWAITING_USER' && pendingLogin !== null) void fetch(pendingLogin.url).then((page) => page.text());
});

/** Waits until nothing goes on: the server is ready, or has been given up. */
async function settled(connection: McpConnection): Promise<boolean> {
  while (['AUTHORIZING', 'REFRESHING', 'CONNECTING', 'DISCOVERING'].includes(connection.state))
    await new Promise((resolve) => setTimeout(resolve, 10));
  return connection.isConnected();
}

/** Uses all that the server has, or what the scenario says. */
async function useAll(connection: McpConnection): Promise<void> {
  const tools = await connection.listTools();
  const planned = context.toolCalls ?? tools.map(({ name }) => ({ name, arguments: {} }));
  for (const { name, arguments: args } of planned) console.log(name, await connection.callTool(name, args));
  for (const { uri } of await connection.listResources())
    if (typeof uri === 'string') await connection.readResource(uri);
  for (const { name } of await connection.listPrompts()) if (typeof name === 'string') await connection.getPrompt(name);
}

await server.connect();
if (await settled(server)) {
  if (call !== undefined) {
    const first = await server.callTool(...call);
    console.log(first);
    // A call that asks for more scopes fails once; when they were given, it is made again.
    if (first.code === 'insufficient-scope' && (await settled(server))) console.log(await server.callTool(...call));
  }
  if (STATELESS.has(scenario)) await useAll(server);
} else {
  console.log('not connected:', server.error?.code, server.error?.message);
  process.exitCode = 1;
}
await server.disconnect();
await rm(path, { force: true });
