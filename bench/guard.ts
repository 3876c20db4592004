// Whether a turn has become twice as dear as it was, beside a peer in the same run: ratios, for times are the machine's.
// Run with: npm run check:speed
import { numberOf, runChild, withModelServer } from './harness/child.ts';
import { median, printTable } from './harness/figures.ts';

/** CPU of a turn as a multiple of the AI SDK's, as it was measured (BENCHMARKS.md). */
const MEASURED = [
  ['signalbox', '10', 1.4],
  ['signalbox-direct', '200', 0.9],
] as const;

const PASSES = 3;

await withModelServer(async (baseURL) => {
  const found = new Map<string, number[]>();
  const measure = async (name: string, calls: string): Promise<void> => {
    const turnMs = numberOf(await runChild('turns', [name, calls, baseURL, 'short']), 'turnMs');
    found.set(`${name} ${calls}`, [...(found.get(`${name} ${calls}`) ?? []), turnMs]);
  };
  for (let pass = 0; pass < PASSES; pass += 1) {
    // Side by side they would disturb each other.
    for (const calls of ['10', '200']) await measure('ai-sdk', calls);
    for (const [name, calls] of MEASURED) await measure(name, calls);
  }
  const rows = MEASURED.map(([name, calls, before]) => {
    const now = median(found.get(`${name} ${calls}`) ?? []) / median(found.get(`ai-sdk ${calls}`) ?? []);
    if (!(now < 2 * before)) process.exitCode = 1;
    return [`${name}, ${calls} calls`, now.toFixed(2), before.toFixed(2), now < 2 * before ? 'ok' : 'twice as dear'];
  });
  printTable(["CPU of a turn, × the AI SDK's", 'now', 'measured', ''], rows);
});
