// CPU of a model turn with nobody's inspector, with one that nobody looks at, and with a page that follows every run, in
// turns in one process. Arguments: calls a run, address of the model server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createInspector } from '../../src/inspector/index.ts';
import { signalboxAgent } from '../contenders/signalbox-agent.ts';
import { collectGarbage, cpuMs, median } from '../harness/figures.ts';

const WARM_UP_TURNS = 800;
const TURNS_A_ROUND = 200;
const ROUNDS = 30;

const calls = Number(process.argv[2]);
const baseURL = process.argv[3] ?? '';
const job = { baseURL, calls, onCall: () => undefined };
const [idle, watched] = [await createInspector(), await createInspector()];
const viewer = spawn(process.execPath, [fileURLToPath(new URL('inspector-viewer.ts', import.meta.url)), watched.url], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
await once(viewer.stdout, 'data');

const ways = [
  { name: 'none', run: await signalboxAgent()(job) },
  { name: 'idle', run: await signalboxAgent({ inspect: idle })(job) },
  { name: 'viewer', run: await signalboxAgent({ inspect: watched })(job) },
] as const;

const figures: Record<(typeof ways)[number]['name'], number[]> = { none: [], idle: [], viewer: [] };
for (let round = -1; round < ROUNDS; round += 1) {
  const runs = Math.ceil((round < 0 ? WARM_UP_TURNS : TURNS_A_ROUND) / (calls + 1));
  // Who goes first changes, so that nobody always has the fresh heap.
  for (const { name, run } of [...ways.slice((round + 3) % 3), ...ways.slice(0, (round + 3) % 3)]) {
    collectGarbage();
    const begun = cpuMs();
    for (let n = 0; n < runs; n += 1) await run();
    if (round >= 0) figures[name].push((cpuMs() - begun) / (runs * (calls + 1)));
  }
}
viewer.stdin.end();
const [line]: readonly unknown[] = await once(viewer.stdout, 'data');
const ratios = (name: 'idle' | 'viewer') => figures[name].map((ms, round) => ms / (figures.none[round] ?? Number.NaN));
console.log(
  JSON.stringify({
    noneMs: median(figures.none),
    idleMs: median(figures.idle),
    viewerMs: median(figures.viewer),
    idleRatio: median(ratios('idle')),
    viewerRatio: median(ratios('viewer')),
    frames: Number(String(line)),
  }),
);
process.exit(0);
