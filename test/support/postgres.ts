import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { freePort } from './free-port.ts';

/** Where the server's programs are; null where PostgreSQL is not installed. */
const BIN = binaries();

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/signalbox/postgres', import.meta.url));

/** Why tests on a real server are left out here; empty where it is installed. */
export const NO_POSTGRES = BIN === null ? 'PostgreSQL is not installed (apt-get install postgresql)' : '';

/** A private server on loopback, with data in a temporary folder. */
export interface PostgresServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: () => number;
  /** Ends it as a power cut of its processes does. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Holds all of its processes. */
  pause(): void;
  goOn(): void;
}

/** Starts a server. It refuses to run as root, and then runs as the user `postgres`, which its package makes. */
export async function startPostgres(settings: readonly string[] = ['fsync=off']): Promise<PostgresServer> {
  if (BIN === null) throw new Error(NO_POSTGRES);
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'));
  const data = join(folder, 'data');
  const user = process.getuid?.() === 0 ? ownerOf('postgres') : null;
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const options = user === null ? { cwd: folder } : { cwd: folder, uid: user.uid, gid: user.gid };
  execFileSync('cp', ['-R', emptyData(BIN, options), data]);
  if (user !== null) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, data]);
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | null = null;
  const start = async (): Promise<void> => {
    const flags = [
      'listen_addresses=127.0.0.1',
      `port=${port}`,
      `unix_socket_directories=${folder}`,
      'max_connections=200',
      'shared_buffers=16MB',
    ];
    const all = [...flags, ...settings].flatMap((setting) => ['-c', setting]);
    const spawned = (): ChildProcess =>
      spawn(join(BIN, 'postgres'), ['-D', data, ...all], { ...options, detached: true, stdio: 'ignore' });
    server = spawned();
    for (let starts = 1; ;) {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      try {
        await client.connect();
        await client.end();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
        if (server.exitCode === null) continue;
        if (starts++ === 100) throw new Error(`PostgreSQL ended with ${server.exitCode}.`);
        // A process of one that was killed may still hold its memory.
        server = spawned();
      }
    }
  };
  const pid = (): number => server?.pid ?? 0;
  const toAll = (name: NodeJS.Signals): void => {
    for (const one of processesOf(pid())) {
      try {
        process.kill(one, name);
      } catch {
        // One of its processes has ended meanwhile.
      }
    }
  };
  /** A connection's process that is left alive would still commit what comes to it. */
  const signal = async (name: NodeJS.Signals, all: boolean): Promise<void> => {
    if (server === null || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    if (all) toAll(name);
    else process.kill(pid(), name);
    await ended;
  };
  // A test that ran out of time ends nothing.
  process.once('exit', () => {
    if (server !== null && server.exitCode === null && server.signalCode === null) server.kill('SIGQUIT');
  });
  await start();
  return {
    url,
    port,
    pid,
    start,
    kill: () => signal('SIGKILL', true),
    pause: () => toAll('SIGSTOP'),
    goOn: () => toAll('SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      await signal('SIGQUIT', false);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The data of a server in which nothing was done yet, kept from run to run: to make it takes ten times as long as a copy. */
function emptyData(
  bin: string,
  options: { readonly cwd: string; readonly uid?: number; readonly gid?: number },
): string {
  // With a short log of writes and without the databases that others are made of: two thirds of the files are theirs.
  const args = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N', '--wal-segsize=1'];
  const kept = join(CACHE, `alone${[bin, ...args].join('').replaceAll(/\W+/g, '-')}`);
  if (existsSync(kept)) return kept;
  const made = join(options.cwd, 'made');
  execFileSync(join(bin, 'initdb'), ['-D', made, ...args], { ...options, stdio: 'ignore' });
  const input = [
    'update pg_database set datistemplate = false',
    'drop database template0',
    'drop database template1',
  ].join('\n');
  execFileSync(join(bin, 'postgres'), ['--single', '-D', made, 'postgres'], {
    ...options,
    input,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  mkdirSync(CACHE, { recursive: true });
  const whole = join(mkdtempSync(join(CACHE, 'new-')), 'data');
  execFileSync('cp', ['-R', made, whole]);
  try {
    renameSync(whole, kept);
  } catch (error) {
    // Another worker was first.
    if (!existsSync(kept)) throw error;
  }
  rmSync(dirname(whole), { recursive: true, force: true });
  return kept;
}

/** The server's main process and those of its connections, which have sessions of their own; none where it has ended. */
function processesOf(pid: number): readonly number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([one = 0, parent]) => (one === pid || parent === pid ? [one] : []));
}

function binaries(): string | null {
  const root = '/usr/lib/postgresql';
  const installed = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...installed.map((version) => join(root, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ];
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'))) ?? null;
}

function ownerOf(user: string): { readonly uid: number; readonly gid: number } {
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' })));
  return { uid: uid ?? 0, gid: gid ?? 0 };
}
