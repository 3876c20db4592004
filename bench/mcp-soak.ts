// 10 000 calls over 100 kills of one server: is a call lost, is a process left, does memory grow?
// Run with: node --expose-gc bench/mcp-soak.ts [kills] [calls per kill]
import { createMcpConnection } from '../src/mcp/index.ts';
import { hostileEntry } from '../test/support/mcp/hostile-entry.ts';
import { collectGarbage, median } from './harness/figures.ts';

const KILLS = Number(process.argv[2] ?? 100);
const CALLS_PER_KILL = Number(process.argv[3] ?? 100);
const AT_ONCE = 20;

const connection = createMcpConnection('soaked', hostileEntry());
if (!(await connection.connect())) throw connection.error ?? new Error('it did not connect');

const servers = new Set<number>();
const wrong: unknown[] = [];
const times: number[] = [];
const slowest: number[] = [];
const heap: number[] = [];
const resident: number[] = [];
let made = 0;

const pidOfServer = async (): Promise<number> => {
  const pid = Number((await connection.callTool('pid')).data);
  servers.add(pid);
  return pid;
};

const caller = async (until: number): Promise<void> => {
  for (let mine = made; mine < until; mine = made) {
    made += 1;
    const since = performance.now();
    // One call after the other, twenty such callers side by side.
    const result = await connection.callTool('echo', { text: `call ${mine}` });
    times.push(performance.now() - since);
    if (result.data !== `call ${mine}`) wrong.push(result);
  }
};

const begun = performance.now();
for (let kill = 1; kill <= KILLS; kill += 1) {
  const pid = await pidOfServer();
  const from = times.length;
  const callers = Array.from({ length: AT_ONCE }, () => caller(kill * CALLS_PER_KILL));
  process.kill(pid, 'SIGKILL');
  await Promise.all(callers);
  slowest.push(Math.max(...times.slice(from)));
  collectGarbage();
  const memory = process.memoryUsage();
  heap.push(memory.heapUsed / 2 ** 20);
  resident.push(memory.rss / 2 ** 20);
}
const seconds = (performance.now() - begun) / 1000;
await pidOfServer();
await connection.disconnect();

const part = Math.max(1, Math.floor(KILLS / 10));
const early = (values: readonly number[]): string => median(values.slice(part, 2 * part)).toFixed(1);
const late = (values: readonly number[]): string => median(values.slice(-part)).toFixed(1);
console.log(`calls                       ${made}, ${AT_ONCE} at once, in ${seconds.toFixed(1)} s`);
console.log(`servers killed              ${KILLS} of ${servers.size}`);
console.log(`calls without their answer  ${wrong.length}`);
console.log(`processes left              ${[...servers].filter(isAlive).length} of ${servers.size}`);
console.log(
  `from kill to last answer    median ${median(slowest).toFixed(0)} ms, longest ${Math.max(...slowest).toFixed(0)} ms`,
);
console.log(`heap after collection       ${early(heap)} MB in the second tenth, ${late(heap)} MB in the last`);
console.log(`resident                    ${early(resident)} MB in the second tenth, ${late(resident)} MB in the last`);
for (const result of wrong.slice(0, 3)) console.log(result);
process.exitCode = wrong.length === 0 ? 0 : 1;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
