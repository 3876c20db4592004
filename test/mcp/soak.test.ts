import { expect, test } from 'vitest';
import { isAlive, watched } from '../support/mcp/hostile.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { SOAKING, cases } from '../support/soak.ts';

/** The whole soak is 10 000 calls over 100 kills. */
const KILLS = cases(5, 100);
const CALLS_PER_KILL = 100;
const AT_ONCE = 20;

test(
  `${KILLS * CALLS_PER_KILL} calls over ${KILLS} kills: nothing is lost, no process is left`,
  async () => {
    const { connection, states } = watched(hostileEntry());
    await connection.connect();
    const seen = new Set<number>();
    const failures: unknown[] = [];
    const heap: number[] = [];
    const pidOf = async (): Promise<number> => {
      const pid = Number((await connection.callTool('pid')).data);
      seen.add(pid);
      return pid;
    };
    let made = 0;
    const caller = async (until: number): Promise<void> => {
      for (let mine = made; mine < until; mine = made) {
        made += 1;
        const result = await connection.callTool('echo', { text: `call ${mine}` });
        if (result.data !== `call ${mine}`) failures.push(result);
      }
    };
    const since = performance.now();
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const pid = await pidOf();
      const callers = Array.from({ length: AT_ONCE }, () => caller(kill * CALLS_PER_KILL));
      process.kill(pid, 'SIGKILL');
      await Promise.all(callers);
      globalThis.gc?.();
      heap.push(process.memoryUsage().heapUsed / 2 ** 20);
    }
    const seconds = (performance.now() - since) / 1000;
    await connection.disconnect();
    if (SOAKING)
      console.log(
        `${made} calls, ${seen.size} servers, ${seconds.toFixed(1)} s, heap ${heap[0]?.toFixed(1)} to ${heap.at(-1)?.toFixed(1)} MB`,
      );
    expect(failures).toEqual([]);
    expect(states().filter((state) => state === 'CONNECTING')).toHaveLength(KILLS + 1);
    expect(await Promise.all([...seen].map(isAlive))).toEqual([...seen].map(() => false));
  },
  KILLS * 5000,
);
