// Runs a second when 200 agents run at once, each with two tool calls and an answer: where one ends the next begins, or in
// waves, of which each begins and ends as a whole. Run with: node bench/concurrent.ts [passes] [--waves] [--all]
import { CONTENDERS, type ContenderName, NAMES } from './contenders/index.ts';
import { numberOf, runChild, withModelServer } from './harness/child.ts';
import { median, numberGiven, printTable, spread } from './harness/figures.ts';

const PASSES = numberGiven(5);
const AT_ONCE = '200';
const CALLS = '2';
const HOW = process.argv.includes('--waves') ? 'waves' : 'steady';

const found = new Map<ContenderName, { readonly runsPerSecond: number; readonly runMs: number }[]>();
await withModelServer(async (baseURL) => {
  for (let pass = 0; pass < PASSES; pass += 1) {
    for (const name of NAMES) {
      // Side by side they would disturb each other.
      const printed = await runChild('concurrent', [name, AT_ONCE, CALLS, baseURL, HOW]);
      const figures = { runsPerSecond: numberOf(printed, 'runsPerSecond'), runMs: numberOf(printed, 'runMs') };
      found.set(name, [...(found.get(name) ?? []), figures]);
    }
  }
});

const rateOf = (name: ContenderName): number => median((found.get(name) ?? []).map((one) => one.runsPerSecond));

console.log(
  `\n${AT_ONCE} agents at once, ${HOW}, ${CALLS} tool calls and an answer each (median of ${String(PASSES)} processes)\n`,
);
printTable(
  ['', 'runs/s', 'lowest–highest', '× f)', 'CPU ms a run'],
  NAMES.map((name) => {
    const all = found.get(name) ?? [];
    return [
      CONTENDERS[name].title,
      rateOf(name).toFixed(0),
      spread(
        all.map((one) => one.runsPerSecond),
        0,
      ),
      (rateOf(name) / rateOf('ai-sdk')).toFixed(2),
      median(all.map((one) => one.runMs)).toFixed(2),
    ];
  }),
);
