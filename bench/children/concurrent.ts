// Many runs of one contender at once. Arguments: contender, runs at once, calls a run, address of the model server, and how:
// 'waves' for runs that all begin together, of which none is left when garbage is collected before the next wave.
import { loadContender } from '../contenders/index.ts';
import { collectGarbage, cpuMs, median } from '../harness/figures.ts';
import { ANSWER } from '../harness/job.ts';

const ROUNDS = 5;
/** Runs that each of those at once makes before the first figure, and in each round. */
const [WARM_UP_RUNS, ROUND_RUNS] = [10, 5];
const WARM_UP_WAVES = 3;

const [name, atOnceText, callsText, baseURL = '', how] = process.argv.slice(2);
const atOnce = Number(atOnceText);
const contender = await loadContender(name);
const run = await contender({ baseURL, calls: Number(callsText), onCall: () => undefined });

interface Figures {
  readonly runsPerSecond: number;
  readonly runMs: number;
}

async function measured(runs: number, work: () => Promise<void>): Promise<Figures> {
  const cpuBefore = cpuMs();
  const begun = performance.now();
  await work();
  return { runsPerSecond: (runs / (performance.now() - begun)) * 1000, runMs: (cpuMs() - cpuBefore) / runs };
}

async function runOnce(): Promise<void> {
  if ((await run()) !== ANSWER) throw new Error(`${String(name)} gave a wrong answer`);
}

/** A server under load: where a run ends the next begins, so that there are always as many. */
async function steady(): Promise<readonly Figures[]> {
  const rounds: Figures[] = [];
  let ended = 0;
  let round = Promise.withResolvers<void>();
  const marks = new Set(Array.from({ length: ROUNDS + 1 }, (_, at) => atOnce * (WARM_UP_RUNS + at * ROUND_RUNS)));
  const one = async (): Promise<void> => {
    while (rounds.length < ROUNDS) {
      // One after the other, beside all others.
      await runOnce();
      ended += 1;
      if (marks.has(ended)) round.resolve();
    }
  };
  const next = async (): Promise<void> => {
    await round.promise;
    round = Promise.withResolvers();
  };
  const all = Promise.all(Array.from({ length: atOnce }, one));
  // The first runs compile the code and open the connections.
  await next();
  while (rounds.length < ROUNDS) rounds.push(await measured(atOnce * ROUND_RUNS, next));
  await all;
  return rounds;
}

async function waves(): Promise<readonly Figures[]> {
  const found: Figures[] = [];
  const wave = async (): Promise<void> => void (await Promise.all(Array.from({ length: atOnce }, runOnce)));
  for (let at = 0; at < WARM_UP_WAVES + ROUNDS; at += 1) {
    collectGarbage();
    found.push(await measured(atOnce, wave));
  }
  return found.slice(WARM_UP_WAVES);
}

const figures = await (how === 'waves' ? waves() : steady());
console.log(
  JSON.stringify({
    runsPerSecond: median(figures.map((one) => one.runsPerSecond)),
    runMs: median(figures.map((one) => one.runMs)),
  }),
);
process.exit(0);
