// What inspecting costs: CPU of a model turn in the agent's process without an inspector, with one that nobody looks at, and
// with a page that follows. Run with: node bench/inspector.ts [passes]
import { numberOf, runChild, withModelServer } from './harness/child.ts';
import { median, printTable, spread } from './harness/figures.ts';

const PASSES = Number(process.argv[2] ?? 2);
const CALLS = [10, 200] as const;

const rows = await withModelServer(async (baseURL) => {
  const found: (readonly string[])[] = [];
  for (const calls of CALLS) {
    const printed: unknown[] = [];
    // Side by side they would disturb each other.
    for (let pass = 0; pass < PASSES; pass += 1) printed.push(await runChild('inspector', [String(calls), baseURL]));
    const of = (name: string): readonly number[] => printed.map((one) => numberOf(one, name));
    const ratio = (name: string): string => `${percent(median(of(name)))} (${of(name).map(percent).join(', ')})`;
    found.push([
      `${String(calls)} calls a run`,
      median(of('noneMs')).toFixed(3),
      spread(of('noneMs'), 3),
      ratio('idleRatio'),
      ratio('viewerRatio'),
    ]);
  }
  return found;
});
printTable(['', 'ms a turn without', 'spread', 'nobody looks', 'a page follows'], rows);

function percent(ratio: number): string {
  return `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)} %`;
}
