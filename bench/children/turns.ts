// CPU of the turns of one contender. Arguments: contender, calls a run, address of the model server, and how: 'short' for a
// rough figure, 'warm' for a process that has served for a while and collects garbage when V8 thinks fit.
import { loadContender } from '../contenders/index.ts';
import { collectGarbage, cpuMs, median } from '../harness/figures.ts';
import { ANSWER } from '../harness/job.ts';

/** Turns before the first figure, until the code is compiled, and turns behind each figure. */
const [name, callsText, baseURL = '', how] = process.argv.slice(2);
const [WARM_UP_TURNS, ROUND_TURNS, ROUNDS] =
  how === 'warm' ? [6000, 400, 5] : how === 'short' ? [300, 150, 3] : [800, 200, 5];
const calls = Number(callsText);
const quarter = Math.floor(calls / 4);
let call = 0;
let early = 0;
let late = 0;

const contender = await loadContender(name);
const run = await contender({
  baseURL,
  calls,
  onCall: () => {
    call += 1;
    // Asking for the CPU time costs some itself, and a short run has no early and late turns.
    if (calls < 100) return;
    if (call === quarter) early = cpuMs();
    if (call === calls - quarter) late = cpuMs();
  },
});

async function runOnce(): Promise<{ readonly cpu: number; readonly growth: number }> {
  call = 0;
  const begun = cpuMs();
  const answer = await run();
  const ended = cpuMs();
  if (answer !== ANSWER || call !== calls)
    throw new Error(`${String(name)} answered '${answer}' after ${String(call)} calls`);
  const growth = calls < 100 ? 0 : (ended - late) / (quarter + 1) / ((early - begun) / quarter);
  return { cpu: ended - begun, growth };
}

async function runFor(turns: number) {
  const runs: { readonly cpu: number; readonly growth: number }[] = [];
  while (runs.length * (calls + 1) < turns) runs.push(await runOnce());
  return runs;
}

await runFor(WARM_UP_TURNS);
const rounds: number[] = [];
const growths: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  if (how !== 'warm') collectGarbage();
  const runs = await runFor(ROUND_TURNS);
  rounds.push(runs.reduce((sum, { cpu }) => sum + cpu, 0) / (runs.length * (calls + 1)));
  growths.push(...runs.map(({ growth }) => growth));
}
console.log(JSON.stringify({ turnMs: median(rounds), growth: median(growths) }));
// Kept connections would hold the process open.
process.exit(0);
