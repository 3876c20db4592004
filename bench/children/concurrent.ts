// Many runs of one contender at once. Arguments: contender, runs at once, calls a run, address of the model server.
import { loadContender } from '../contenders/index.ts';
import { collectGarbage, cpuMs, median } from '../harness/figures.ts';
import { ANSWER } from '../harness/job.ts';

const ROUNDS = 5;

const [name, atOnceText, callsText, baseURL = ''] = process.argv.slice(2);
const atOnce = Number(atOnceText);
const contender = await loadContender(name);
const run = await contender({ baseURL, calls: Number(callsText), onCall: () => undefined });

async function wave(): Promise<{ readonly wallMs: number; readonly cpu: number }> {
  collectGarbage();
  const cpuBefore = cpuMs();
  const begun = performance.now();
  const answers = await Promise.all(Array.from({ length: atOnce }, run));
  const wallMs = performance.now() - begun;
  if (answers.some((answer) => answer !== ANSWER)) throw new Error(`${String(name)} gave a wrong answer`);
  return { wallMs, cpu: cpuMs() - cpuBefore };
}

// The first waves compile the code and open the connections.
for (let at = 0; at < 3; at += 1) {
  // oxlint-disable-next-line no-await-in-loop -- one wave at a time
  await wave();
}
const waves: { readonly wallMs: number; readonly cpu: number }[] = [];
for (let at = 0; at < ROUNDS; at += 1) {
  // oxlint-disable-next-line no-await-in-loop -- one wave at a time
  waves.push(await wave());
}
const wallMs = median(waves.map((one) => one.wallMs));
console.log(
  JSON.stringify({ runsPerSecond: (atOnce / wallMs) * 1000, runMs: median(waves.map((one) => one.cpu)) / atOnce }),
);
process.exit(0);
