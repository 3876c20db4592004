import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { startServer } from '../../src/mcp/stdio/server-process.ts';
import { BUNDLED } from '../support/bundled.ts';
import { isAlive, watched } from '../support/mcp/hostile.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { besideEachOther, onTestFinished, poll } from '../support/beside.ts';

besideEachOther();

async function pidsOf(connection: ReturnType<typeof watched>['connection']): Promise<readonly number[]> {
  const { data } = await connection.callTool('pids');
  const pids: unknown = JSON.parse(typeof data === 'string' ? data : '');
  if (!Array.isArray(pids)) throw new Error('the server told no process ids');
  onTestFinished(() => end(pids.map(Number)));
  return pids.map(Number);
}

/** Ends what a failing test would leave behind. */
function end(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended, as it should.
    }
  }
}

async function alive(pids: readonly number[]): Promise<readonly boolean[]> {
  return Promise.all(pids.map(isAlive));
}

describe('disconnect()', () => {
  // Alone: it is held to its time.
  test.each(['normal', 'stubborn'])('ends a %s server and what it started, in good time', async (mode) => {
    const { connection } = watched(hostileEntry(mode));
    const pids = await pidsOf(connection);
    expect(await alive(pids)).toEqual([true, true]);
    const since = performance.now();
    await connection.disconnect();
    expect(performance.now() - since).toBeLessThan(7500);
    expect(await alive(pids)).toEqual([false, false]);
  });

  test.runIf(process.platform === 'linux').concurrent.each(['keeps-apart', 'stubborn-apart'])(
    'ends what a server (%s) started in a session of its own, and nothing else',
    async (mode) => {
      const bystander = spawn('sleep', ['60'], { stdio: 'ignore', detached: true });
      onTestFinished(() => void bystander.kill());
      const { connection } = watched(hostileEntry(mode));
      const pids = await pidsOf(connection);
      await connection.disconnect();
      await poll(() => alive(pids)).toEqual([false, false]);
      expect(await alive([bystander.pid ?? 0])).toEqual([true]);
    },
  );

  test.concurrent('leaves alone what a server that ends by itself has started in a session of its own', async () => {
    const { connection } = watched(hostileEntry('apart'));
    const pids = await pidsOf(connection);
    await connection.disconnect();
    expect(await alive(pids)).toEqual([false, true]);
  });

  test.concurrent('leaves alone what a server started, when the configuration says so', async () => {
    const { connection } = watched({ ...hostileEntry(), killTree: false });
    const pids = await pidsOf(connection);
    await connection.disconnect();
    expect(await alive(pids)).toEqual([false, true]);
  });

  test.concurrent('in the middle of connecting leaves nothing behind and ends the try', async () => {
    const { connection } = watched(hostileEntry('silent'));
    const trying = connection.connect();
    await connection.disconnect();
    expect(await trying).toBe(false);
    expect(connection.state).toBe('STOPPED');
  });

  test.concurrent('can be followed by connect()', async () => {
    const { connection } = watched(hostileEntry());
    const [first] = await pidsOf(connection);
    await connection.disconnect();
    expect(await connection.callTool('echo')).toMatchObject({ code: 'not-connected' });
    expect(await connection.connect()).toBe(true);
    const [second] = await pidsOf(connection);
    expect(second).not.toBe(first);
  });
});

test.concurrent('what a server that died had started is ended, too', async () => {
  const { connection } = watched(hostileEntry('normal', { retryAfterLoss: 'safe' }));
  const pids = await pidsOf(connection);
  expect(await connection.callTool('die')).toMatchObject({ code: 'unknown-outcome' });
  await poll(() => alive(pids)).toEqual([false, false]);
});

describe('when the host ends, its servers end, and the host ends as it would have', () => {
  interface Host {
    readonly child: ChildProcess;
    readonly pids: readonly number[];
    readonly output: () => string;
  }
  const startHost = async (way: string, mode = 'normal'): Promise<Host> => {
    const script = fileURLToPath(new URL('../support/mcp/host.ts', import.meta.url));
    const child = spawn(process.execPath, [...BUNDLED, script, way, mode], { stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
    await poll(() => output).toContain('\n');
    const pids = output.split('\n')[0]?.match(/\d+/g)?.map(Number) ?? [];
    expect(pids).toHaveLength(2);
    onTestFinished(() => {
      child.kill('SIGKILL');
      end(pids);
    });
    return { child, pids, output: () => output };
  };
  const ended = async (
    child: ChildProcess,
  ): Promise<{ readonly code: number | null; readonly signal: string | null }> => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return { code: child.exitCode, signal: child.signalCode };
  };

  test.concurrent.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('by %s', async (signal) => {
    const host = await startHost('waits');
    host.child.kill(signal);
    expect(await ended(host.child)).toEqual({ code: null, signal });
    await poll(() => alive(host.pids)).toEqual([false, false]);
  });

  test.concurrent.each(['stubborn', 'stubborn-apart'])(
    'by SIGTERM, even a server that does not care (%s)',
    async (mode) => {
      const host = await startHost('waits', mode);
      host.child.kill('SIGTERM');
      expect(await ended(host.child)).toEqual({ code: null, signal: 'SIGTERM' });
      await poll(() => alive(host.pids)).toEqual([false, false]);
    },
  );

  test.concurrent.each([
    ['throws', 1],
    ['rejects', 1],
    ['exits', 3],
  ])('because it %s', async (way, code) => {
    const host = await startHost(way);
    expect(await ended(host.child)).toEqual({ code, signal: null });
    await poll(() => alive(host.pids)).toEqual([false, false]);
  });

  test.concurrent('by a signal that a passive listener waits for, too', async () => {
    const host = await startHost('has-a-passive-listener');
    host.child.kill('SIGINT');
    expect(await ended(host.child)).toEqual({ code: null, signal: 'SIGINT' });
    await poll(() => alive(host.pids)).toEqual([false, false]);
  });

  test.concurrent('a host with a listener of its own goes on, and so do its servers', async () => {
    const host = await startHost('has-a-listener');
    host.child.kill('SIGINT');
    await poll(host.output).toContain('after SIGINT: success');
    expect(await alive(host.pids)).toEqual([true, true]);
  });

  test.concurrent('a host that listens once takes the time that it needs to close', async () => {
    const host = await startHost('listens-once');
    host.child.kill('SIGTERM');
    expect(await ended(host.child)).toEqual({ code: 0, signal: null });
    expect(host.output()).toContain('closing\nclosed\n');
    await poll(() => alive(host.pids)).toEqual([false, false]);
  });

  test.concurrent('a second signal, which nobody waits for any more, ends a host that listens once', async () => {
    const host = await startHost('listens-once');
    host.child.kill('SIGTERM');
    await poll(host.output).toContain('closing');
    host.child.kill('SIGTERM');
    expect(await ended(host.child)).toEqual({ code: null, signal: 'SIGTERM' });
    await poll(() => alive(host.pids)).toEqual([false, false]);
  });

  test.concurrent('after the last server no listener is left, and nothing keeps the host', async () => {
    const host = await startHost('disconnects');
    expect(await ended(host.child)).toEqual({ code: 0, signal: null });
    expect(host.output()).toContain('listeners: 0');
  });
});

const UNSHARE = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child'];
/** Linux lets a process be the first of a container, unless it is told not to. */
const hasContainers = spawnSync('unshare', [...UNSHARE, 'true']).status === 0;

// The kernel ends no such process by a signal that it does not listen to.
test
  .runIf(hasContainers)
  .concurrent('the first process of a container, which SIGTERM does not end, keeps its servers', async () => {
    const script = fileURLToPath(new URL('children/first-process.ts', import.meta.url));
    const child = spawn('unshare', [...UNSHARE, process.execPath, ...BUNDLED, script], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
    await poll(() => output).toContain('waiting');
    const [first] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ');
    process.kill(Number(first), 'SIGTERM');
    child.stdin.write('Go on.');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(output).toBe('waiting\n1 2 1\n');
  });

describe('a program that has stopped reading', () => {
  /** What is thrown to whoever writes to a shell script once it has said that it is ready. */
  async function faultOf(script: string): Promise<unknown> {
    const { promise: ready, resolve } = Promise.withResolvers<void>();
    const server = await startServer(
      { kind: 'stdio', command: 'sh', args: ['-c', script], env: {}, killTree: true },
      { onLine: () => resolve(), onExit: () => undefined },
    );
    onTestFinished(() => server.end('at-once'));
    await ready;
    return server.write('{}\n').catch((fault: unknown) => fault);
  }

  // The second one ends slowly, as any does on a busy machine.
  test.concurrent.each(['sleep 0.01', 'exec >&-; sleep 1'])(
    'is told with the exit code that follows: %s',
    async (last) => {
      const fault = await faultOf(`exec <&-; echo ready; ${last}; exit 3`);
      expect(fault).toMatchObject({ kind: 'exited', delivered: false, data: { exitCode: 3 } });
    },
  );

  test.concurrent('and lives is told too, and not waited for', async () => {
    const fault = await faultOf('exec <&-; echo ready; sleep 60');
    expect(fault).toMatchObject({ delivered: false, message: "'sh' does not read its input any more" });
  });
});
