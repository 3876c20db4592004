// Replays of one recording, one after the other. Argument: tool calls of the recorded run.
import { createAgent, tool } from '../../src/index.ts';
import { replay, transitions } from '../../src/journal/index.ts';
import { collectGarbage, median } from '../harness/figures.ts';
import { inProcessModel } from '../harness/in-process-model.ts';
import { INSTRUCTIONS, TASK, TOOL_DESCRIPTION, TOOL_NAME, TOOL_SCHEMA } from '../harness/job.ts';

const ROUNDS = 5;
const ROUND_EFFECTS = 2000;

const calls = Number(process.argv[2]);
const weather = tool({
  name: TOOL_NAME,
  description: TOOL_DESCRIPTION,
  inputSchema: TOOL_SCHEMA,
  execute: ({ city }) => ({ city, celsius: 21 }),
});
const agent = createAgent({
  instructions: INSTRUCTIONS,
  model: inProcessModel(calls),
  tools: [weather],
  maxSteps: calls + 1,
  silent: true,
});
const run = agent.run(TASK);
await run.orThrow();
const recording = run.recording();
const moves = JSON.stringify(run.transitions());
const effects = recording.split('\n').filter((line) => line.startsWith('{"t":"start"')).length;
const repeats = Math.ceil(ROUND_EFFECTS / effects);

async function perSecond(work: () => unknown): Promise<number> {
  const rounds: number[] = [];
  for (let round = -2; round < ROUNDS; round += 1) {
    collectGarbage();
    const begun = performance.now();
    for (let at = 0; at < repeats; at += 1) await work();
    if (round >= 0) rounds.push((performance.now() - begun) / 1000);
  }
  return (effects * repeats) / median(rounds);
}

const replayed = replay(recording, agent);
await replayed;
if (JSON.stringify(replayed.transitions()) !== moves) throw new Error('The replay went another way than the run.');

const replayRate = await perSecond(() => replay(recording, agent));
const transitionsRate = await perSecond(() => transitions(recording));
console.log(JSON.stringify({ effects, kilobytes: recording.length / 1000, replayRate, transitionsRate }));
