import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { replay } from '../../src/journal/replay/replay.ts';
import { type RestateClient, type RestateMessage, restateClient } from '../../src/restate/index.ts';
import { BUNDLED } from '../support/bundled.ts';
import { freePort } from '../support/free-port.ts';
import { RestateServer, restateBinary } from '../support/restate-server.ts';
import { cases, seedOr } from '../support/soak.ts';
import { STEER, killedAgent, logIn } from './killed-agent.ts';
import { until, waitingCall } from './served-agent.ts';

/** The process of the SDK, that is started again whenever it is gone. */
class Endpoint {
  lives = 0;
  readonly #port: number;
  readonly #log: string;
  #child: ChildProcessWithoutNullStreams | null = null;
  #lines: AsyncIterator<string, unknown> | null = null;
  #isOver = false;
  /** Resolves when the one that followed the last that ended takes requests. */
  #next: Promise<void> = Promise.resolve();

  constructor(port: number, log: string) {
    this.#port = port;
    this.#log = log;
  }

  async start(): Promise<void> {
    this.lives += 1;
    const script = join(import.meta.dirname, 'children/serve-killed.ts');
    const child = spawn(process.execPath, [...BUNDLED, script, String(this.#port), this.#log, String(this.lives)]);
    child.stderr.pipe(process.stderr);
    this.#child = child;
    this.#lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    child.once('exit', () => {
      if (!this.#isOver) this.#next = this.start();
    });
    await this.#lines.next();
  }

  /** It ends itself at this boundary from now on. */
  async arm(boundary: number): Promise<void> {
    this.#child?.stdin.write(`${boundary}\n`);
    await this.#lines?.next();
  }

  /** Ends it at once; another one follows, and takes requests when this resolves. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return this.#next;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await this.#next;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    const child = this.#child;
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

/** How long one step of a run from outside may take: with many kills, it takes many tries. */
const PATIENCE_MS = cases(100_000, 900_000);

/** Does it until it works: the server may be gone meanwhile. */
function insisting<T>(act: () => Promise<T>): Promise<T> {
  return until(async () => {
    try {
      return { value: await act() };
    } catch {
      return null;
    }
  }, PATIENCE_MS).then(({ value }) => value);
}

const missing = restateBinary() === null;
if (missing) console.warn('Skipped: npm has installed no Restate server for this platform.');

describe.skipIf(missing)('runs on Restate whose processes are killed', () => {
  let server: RestateServer;
  let folder: string;
  let endpoint: Endpoint;
  let client: RestateClient;
  let log: string;
  beforeAll(async () => {
    server = await RestateServer.start();
    folder = await mkdtemp(join(tmpdir(), 'killed-'));
    log = join(folder, 'log');
    const port = await freePort();
    endpoint = new Endpoint(port, log);
    await endpoint.start();
    await server.register(`http://127.0.0.1:${port}`);
    client = restateClient({ url: server.ingress, name: 'clerk' });
  });
  afterAll(async () => {
    await endpoint.stop();
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  let seed = seedOr(19);
  const next = (most: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return 1 + Math.floor((seed / 2 ** 31) * most);
  };

  /** Drives one run from outside; each of what is said must be taken exactly once. */
  const driven = async (runId: string, everyMs = 50) => {
    const say = (message: RestateMessage) => insisting(() => client.send(runId, message));
    // One that was begun, but whose answer was lost, is refused a second time.
    const begin = (): Promise<void> =>
      client.start(runId, `Do it for ${runId}`).catch((error: unknown) => {
        if (Reflect.get(Object(error), 'status') !== 409) throw error;
      });
    await insisting(begin);
    const callId = await insisting(() => waitingCall(client, runId, 'mail', PATIENCE_MS, everyMs));
    const taken = [await say(STEER), await say({ type: 'approve', callId })];
    const result = await insisting(() => client.result(runId));
    return { result, taken, callId, recording: (await insisting(() => client.recording(runId))) ?? '' };
  };

  const holds = async (runId: string, recording: string, result: object) => {
    expect(result).toMatchObject({ status: 'answered', result: 'Heard 1 time(s).', stepsTaken: 4 });
    const lines = logIn(log, '').lines();
    const begun = lines.flatMap((line) => (line.includes(` begin ${runId} `) ? [line.split(' ')] : []));
    const onceKeys = begun.flatMap(([, , , , effects, key]) => (effects === 'once' ? [key] : []));
    expect(onceKeys.toSorted((a = '', b = '') => a.localeCompare(b))).toEqual(
      [...new Set(onceKeys)].toSorted((a = '', b = '') => a.localeCompare(b)),
    );
    // What the machine was told of in one life is never begun in a later one.
    for (const [life, , , name] of begun) {
      const told = lines.find((line) => line.endsWith(` told ${runId} ${String(name)}`));
      if (told !== undefined) expect(Number(life)).toBeLessThanOrEqual(Number(told.split(' ')[0]));
    }
    const agent = killedAgent(logIn(join(folder, 'none'), ''), () => undefined);
    const again = replay(recording, agent);
    expect(await again).toMatchObject(result);
    expect(again.recording()).toBe(recording);
    await agent.close();
  };

  test('without a kill a run passes the boundaries that the others are killed at', async () => {
    const { result, taken, recording } = await driven('run-whole');
    expect(taken).toEqual([true, true]);
    await holds('run-whole', recording, result);
    expect(result).toMatchObject({ toolsUsed: ['look', 'pay', 'digger', 'mail'], errorHistory: [] });
  });

  test(
    'a process that ends at any boundary changes nothing: same result, nothing twice, nothing lost',
    async () => {
      const count = cases(6, 200);
      for (let index = 0; index < count; index += 1) {
        const runId = `run-${index}`;
        await endpoint.arm(next(75));
        const { result, taken, recording } = await driven(runId);
        expect(taken).toEqual([true, true]);
        await holds(runId, recording, result);
      }
      expect(endpoint.lives).toBeGreaterThan(count / 2);
      await endpoint.arm(1e9);
    },
    cases(180_000, 3_600_000),
  );

  test(
    'many runs at once survive kills of the process and of the server at random moments',
    async () => {
      await endpoint.arm(1e9);
      const count = cases(8, 100);
      const over = new AbortController();
      const killing = (async () => {
        for (let kills = 1; !over.signal.aborted; kills += 1) {
          await new Promise((resolve) => setTimeout(resolve, 150 + next(cases(300, 4000))));
          const killed = performance.now();
          if (kills % 4 !== 0) await endpoint.kill();
          else {
            await server.kill();
            await server.launch();
          }
          // However slow the machine is, it gets somewhere: it lives for longer than it took to begin.
          const began = performance.now() - killed;
          await new Promise((resolve) => setTimeout(resolve, Math.max(1000, 3 * began)));
        }
      })();
      const ids = Array.from({ length: count }, (_none, index) => `run-many-${index}`);
      const driving = Promise.all(ids.map((runId) => driven(runId, cases(100, 500))));
      const all = await driving.finally(() => over.abort());
      await killing;
      expect(all.map(({ result }) => result.runId)).toEqual(ids);
      for (const [index, { recording, result }] of all.entries()) await holds(ids[index] ?? '', recording, result);
    },
    cases(180_000, 3_600_000),
  );

  test(
    'a server that is killed and started again loses no run and nothing that was said',
    async () => {
      const count = cases(2, 40);
      for (let index = 0; index < count; index += 1) {
        const runId = `run-server-${index}`;
        const killing = (async () => {
          for (let kills = 0; kills < 2; kills += 1) {
            await new Promise((resolve) => setTimeout(resolve, 15 + 37 * ((index * 7 + kills * 3) % 5)));
            await server.kill();
            await server.launch();
          }
        })();
        const { result, callId, recording } = await driven(runId);
        await killing;
        await holds(runId, recording, result);
        expect(await client.send(runId, { type: 'approve', callId })).toBe(false);
      }
    },
    cases(180_000, 3_600_000),
  );
});
