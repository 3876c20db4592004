// CPU of the client process for one model turn, the same job for everybody, side by side in one run.
// Run with: node bench/turns.ts [passes] [--warm] [--all]
import { CONTENDERS, type ContenderName, NAMES, isAll } from './contenders/index.ts';
import { numberOf, runChild, withModelServer } from './harness/child.ts';
import { median, numberGiven, printTable, spread, times } from './harness/figures.ts';

const PASSES = numberGiven(5);
/** Of processes that have served for a while, rather than young ones whose garbage is collected before each round. */
const isWarm = process.argv.includes('--warm');
const CALLS: readonly number[] = isAll ? [10, 200, 1000] : [10, 200];

interface Figures {
  readonly turnMs: readonly number[];
  readonly growth: readonly number[];
}

// Passes are interleaved, so that a busy minute of the machine hits everybody.
const figures = await withModelServer(async (baseURL) => {
  const found = new Map<string, Figures>();
  for (let pass = 0; pass < PASSES; pass += 1) {
    for (const calls of CALLS) {
      for (const name of NAMES) {
        // Side by side they would disturb each other.
        const printed = await runChild('turns', [name, String(calls), baseURL, isWarm ? 'warm' : '']);
        const one = { turnMs: numberOf(printed, 'turnMs'), growth: numberOf(printed, 'growth') };
        const before = found.get(`${name} ${String(calls)}`) ?? { turnMs: [], growth: [] };
        found.set(`${name} ${String(calls)}`, {
          turnMs: [...before.turnMs, one.turnMs],
          growth: [...before.growth, one.growth],
        });
      }
    }
  }
  return found;
});

const of = (name: ContenderName, calls: number): Figures =>
  figures.get(`${name} ${String(calls)}`) ?? { turnMs: [], growth: [] };

for (const calls of CALLS) {
  console.log(
    `\nCPU of a model turn, ${String(calls)} tool calls a run (median of ${String(PASSES)} ${isWarm ? 'warm ' : ''}processes, lowest–highest)\n`,
  );
  printTable(
    ['', 'ms', 'spread', '× f)', '× b)', '× a)', ...(calls >= 100 ? ['late / early'] : [])],
    NAMES.map((name) => {
      const { turnMs, growth } = of(name, calls);
      const late = calls >= 100 ? [`${median(growth).toFixed(2)} ×`] : [];
      const ratios = (['ai-sdk', 'openai', 'node-http'] as const).map((peer) => times(turnMs, of(peer, calls).turnMs));
      return [CONTENDERS[name].title, median(turnMs).toFixed(3), spread(turnMs, 3), ...ratios, ...late];
    }),
  );
}
