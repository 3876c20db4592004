import { createInterface } from 'node:readline';
import { openBrowser } from '../../inspector/server/open-browser.ts';
import type { McpConnection } from '../../mcp/connection-types.ts';
import { createMcpConnection } from '../../mcp/create-connection.ts';
import { escaped, machineJson } from '../../output/console/escaped.ts';
import { UsageError, EXIT_CODE, shellWord } from '../command/command.ts';
import { complain, type McpEntry, type UsableEntry } from './mcp-servers.ts';
import { print } from './mcp-actions.ts';

/** How a person signs in. */
export interface LoginOptions {
  readonly json: boolean;
  /** Opens the browser, where there is one. */
  readonly browser: boolean;
  /** What a command that is suggested needs to find the file. */
  readonly at: string;
}

/**
 * `signalbox mcp login <server>`: shows the address, opens it where a person sits at a terminal, and waits for the browser or
 * for the pasted address on which it ended. Exit code 0 when the server can be used then, else 1.
 */
export async function logIn(entries: readonly McpEntry[], { json, browser }: LoginOptions): Promise<number> {
  const connection = connectionOf(entries);
  const input = createInterface({ input: process.stdin });
  input.on('line', (line) => {
    if (line.trim() !== '' && !connection.answerLogin(line.trim()))
      console.error('No sign-in waits for this address. Paste the whole address.');
  });
  const shown = escaped(connection.name);
  connection.on('mcp.changed', ({ step }) => {
    const { pendingLogin } = connection;
    if (step !== 'AWAITING_USER' || pendingLogin === null) return;
    console.error(`Open this address to sign in at '${shown}':\n\n${pendingLogin.url}\n`);
    const then = pendingLogin.answer === 'paste' ? 'Then paste' : 'If your browser is on another machine, then paste';
    console.error(`${then} the final address here, and press Enter.`);
    if (browser && process.stderr.isTTY) openBrowser(pendingLogin.url);
  });
  try {
    const signedIn = await connection.login();
    const error = connection.error;
    if (json) console.log(machineJson({ server: connection.name, signedIn, ...(await statusOf(connection)) }));
    else if (signedIn) console.log(`Signed in at '${shown}'.`);
    if (!signedIn) console.error(escaped(error?.message ?? `Nobody signed in at '${connection.name}'.`));
    return signedIn ? EXIT_CODE.answered : EXIT_CODE.failed;
  } finally {
    input.close();
    // A process that pipes into this one may keep the pipe open.
    process.stdin.destroy();
    await connection.disconnect();
  }
}

/** `signalbox mcp logout <server>`: deletes the tokens. */
export async function logOut(entries: readonly McpEntry[], { json }: LoginOptions): Promise<number> {
  const connection = connectionOf(entries);
  const before = await connection.loginStatus();
  await connection.logout();
  const shown = escaped(connection.name);
  if (json) console.log(machineJson({ server: connection.name, signedIn: false }));
  else if (before?.signedIn !== true) console.log(`Nobody was signed in at '${shown}'.`);
  else console.log(`The tokens for '${shown}' were deleted here. They were not revoked at the server.`);
  return EXIT_CODE.answered;
}

/** `signalbox mcp status [server]`: lists the logins. Contacts no server. */
export async function showStatus(entries: readonly McpEntry[], { json, at }: LoginOptions): Promise<number> {
  const usable = entries.filter((entry): entry is UsableEntry => entry.kind === 'usable');
  const rows = await Promise.all(
    usable.map(async ({ name, config }) => ({
      name,
      login: await createMcpConnection(name, config, { offersLogin: false }).loginStatus(),
    })),
  );
  const off = entries.flatMap(({ kind, name }) => (kind === 'disabled' ? [[name, 'DISABLED']] : []));
  if (json) console.log(machineJson(rows));
  else print([...rows.map((row) => cellsOf(row, at)), ...off]);
  const wrong = entries.filter((entry) => entry.kind === 'wrong');
  for (const { error } of wrong) complain(error.message);
  return wrong.length === 0 ? EXIT_CODE.answered : EXIT_CODE.failed;
}

function cellsOf({ name, login }: { readonly name: string; readonly login: Status }, at: string): readonly string[] {
  if (login === null) return [name, 'no login', 'its entry asks for none'];
  if (!login.signedIn) return [name, 'signed out', `signalbox mcp login ${shellWord(name)}${at}`];
  const until = login.renews
    ? 'renewed automatically'
    : login.expiresAt === null
      ? ''
      : new Date(login.expiresAt).toISOString();
  return [name, 'signed in', [login.issuer ?? '', login.scopes.join(' '), until].filter(Boolean).join('; ')];
}

type Status = Awaited<ReturnType<McpConnection['loginStatus']>>;

async function statusOf(connection: McpConnection): Promise<object> {
  return (await connection.loginStatus()) ?? {};
}

function connectionOf(entries: readonly McpEntry[]): McpConnection {
  const [entry] = entries;
  if (entry?.kind === 'wrong') throw new UsageError(entry.error.message);
  if (entry?.kind !== 'usable') throw new UsageError(`the server '${entry?.name ?? ''}' is switched off.`);
  const { target } = entry.server;
  if (target.kind === 'http' && target.auth?.type === 'oauth')
    return createMcpConnection(entry.name, entry.config, { limits: { maxFailures: 1 } });
  throw new UsageError(`'${entry.name}' needs no login: its entry has no "auth": "oauth".`);
}
