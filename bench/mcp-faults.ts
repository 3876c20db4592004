// What the user of a client sees of each fault of a server, and after how long. Run with: node bench/mcp-faults.ts
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import { hostileEntry } from '../test/support/mcp/hostile-entry.ts';
import { type Contender, type Place, openBare, openOurs } from './mcp-contenders.ts';
import { freePort } from '../test/support/free-port.ts';

interface Seen {
  readonly what: string;
  readonly seconds: number;
}

interface Fault {
  readonly name: string;
  /** Brings the fault about; gives what the call that met it saw, and what the next call saw. */
  readonly run: (open: (place: Place) => Promise<Contender>) => Promise<readonly [first: Seen, next: Seen]>;
}

const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');
/** Both clients get this limit where the fault is that nothing ever answers. */
const SHORT_MS = 10_000;

const FAULTS: readonly Fault[] = [
  { name: 'stdio: dies at its start', run: (open) => attempt(open, hostile('dies-at-start')) },
  { name: 'stdio: dies while idle', run: (open) => withHostile(open, killIdle) },
  { name: 'stdio: dies in the middle of a call', run: (open) => withHostile(open, (it) => both(it, 'die')) },
  { name: 'stdio: dies, its child keeps stdout open', run: (open) => withHostile(open, (it) => both(it, 'orphan')) },
  { name: 'stdio: freezes (limit 10 s)', run: (open) => withHostile(open, (it) => both(it, 'freeze', SHORT_MS)) },
  { name: 'stdio: writes noise to stdout', run: (open) => withHostile(open, (it) => both(it, 'noise')) },
  { name: 'stdio: answers with 11 MB', run: (open) => withHostile(open, (it) => both(it, 'giant')) },
  { name: 'HTTP: killed in a call of 3 s, back after 2 s', run: killedInCall },
  { name: 'HTTP: restarted while idle, session lost', run: restartedIdle },
];

// All at once: most of the time is spent on waiting.
const rows = await Promise.all(
  FAULTS.map(async ({ name, run }) => ({ name, bare: await run(openBare), ours: await run(openOurs) })),
);
console.log('| fault | | the call that met it | the next call |\n| --- | --- | --- | --- |');
for (const { name, bare, ours } of rows) {
  console.log(`| ${name} | SDK | ${bare.map(cell).join(' | ')} |`);
  console.log(`| | Signalbox | ${ours.map(cell).join(' | ')} |`);
}
process.exit(0);

function hostile(mode: string): Place {
  const { command, args = [] } = hostileEntry(mode);
  return { command, args };
}

async function attempt(open: (place: Place) => Promise<Contender>, place: Place): Promise<readonly [Seen, Seen]> {
  const connecting = (): Promise<Seen> => see(async () => (await open(place), 'connected'));
  return [await connecting(), await connecting()];
}

async function withHostile(
  open: (place: Place) => Promise<Contender>,
  use: (client: Contender) => Promise<readonly [Seen, Seen]>,
): Promise<readonly [Seen, Seen]> {
  const client = await open(hostile('normal'));
  const seen = await use(client);
  await client.close();
  return seen;
}

/** A call that brings the fault about, and one after it. */
async function both(client: Contender, tool: string, timeoutMs?: number): Promise<readonly [Seen, Seen]> {
  const first = await see(() => client.call(tool, {}, timeoutMs));
  return [first, await see(() => client.call('echo', { text: 'ok' }, timeoutMs))];
}

async function killIdle(client: Contender): Promise<readonly [Seen, Seen]> {
  process.kill(Number(await client.call('pid')), 'SIGKILL');
  await wait(300);
  const echo = (): Promise<Seen> => see(() => client.call('echo', { text: 'ok' }));
  return [await echo(), await echo()];
}

async function killedInCall(open: (place: Place) => Promise<Contender>): Promise<readonly [Seen, Seen]> {
  const port = await freePort();
  const server = await serve(port);
  const client = await open({ url: `http://127.0.0.1:${port}/mcp` });
  const call = see(() => client.call('trigger-long-running-operation', { duration: 3, steps: 3 }));
  await wait(500);
  server.kill('SIGKILL');
  await wait(2000);
  const again = await serve(port);
  const first = await call;
  const next = await see(() => client.call('echo', { message: 'ok' }));
  again.kill('SIGKILL');
  return [first, next];
}

async function restartedIdle(open: (place: Place) => Promise<Contender>): Promise<readonly [Seen, Seen]> {
  const port = await freePort();
  const server = await serve(port);
  const client = await open({ url: `http://127.0.0.1:${port}/mcp` });
  server.kill('SIGKILL');
  await once(server, 'exit');
  const again = await serve(port);
  const echo = (): Promise<Seen> => see(() => client.call('echo', { message: 'ok' }));
  const seen = [await echo(), await echo()] as const;
  again.kill('SIGKILL');
  return seen;
}

async function see(work: () => Promise<string>): Promise<Seen> {
  const since = performance.now();
  const what = await work().then(
    (text) => `ok: ${text}`,
    (error: unknown) => `error: ${error instanceof Error ? error.message : String(error)}`,
  );
  return { what, seconds: (performance.now() - since) / 1000 };
}

function cell({ what, seconds }: Seen): string {
  const line = what.replaceAll(/\s+/g, ' ').replaceAll(process.execPath, 'node').replaceAll('|', '/');
  return `${seconds.toFixed(1)} s, ${line.length > 150 ? `${line.slice(0, 149)}…` : line}`;
}

async function serve(port: number): Promise<ChildProcess> {
  const env = { ...process.env, PORT: String(port) };
  const server = spawn(process.execPath, [everything, 'streamableHttp'], { env, stdio: 'ignore' });
  const answers = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/mcp`).then(
      () => true,
      () => false,
    );
  for (let tries = 0; tries < 200 && !(await answers()); tries += 1) await wait(50);
  return server;
}
