// CPU of the client process for one model turn, the same job for everybody, side by side in one run.
// Run with: node bench/turns.ts [passes]
import { CONTENDERS, type ContenderName, NAMES } from './contenders/index.ts';
import { numberOf, runChild, withModelServer } from './harness/child.ts';
import { median, printTable, spread } from './harness/figures.ts';

const PASSES = Number(process.argv[2] ?? 2);
const CALLS = [10, 200] as const;

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
        // oxlint-disable-next-line no-await-in-loop -- side by side they would disturb each other
        const printed = await runChild('turns', [name, String(calls), baseURL]);
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
    `\nCPU of a model turn, ${String(calls)} tool calls a run (median of ${String(PASSES)} processes, lowest–highest)\n`,
  );
  const lean = median(of('openai-lean', calls).turnMs);
  const floor = median(of('node-http', calls).turnMs);
  printTable(
    ['', 'ms', 'spread', '× c)', '× a)', ...(calls >= 100 ? ['late / early'] : [])],
    NAMES.map((name) => {
      const { turnMs, growth } = of(name, calls);
      const ms = median(turnMs);
      const late = calls >= 100 ? [`${median(growth).toFixed(2)} ×`] : [];
      return [
        CONTENDERS[name].title,
        ms.toFixed(3),
        spread(turnMs, 3),
        (ms / lean).toFixed(2),
        (ms / floor).toFixed(2),
        ...late,
      ];
    }),
  );
  console.log(`\nSignalbox's own share of a turn, d) - c): ${ownShare(calls)}`);
}

function ownShare(calls: number): string {
  const lean = of('openai-lean', calls).turnMs;
  const shares = of('signalbox', calls).turnMs.map((ms, pass) => ms - (lean[pass] ?? Number.NaN));
  return `${median(shares).toFixed(3)} ms (${spread(shares, 3)})`;
}
