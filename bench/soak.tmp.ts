import { simulate } from '../src/testing/index.ts';
import { generatedAgent } from '../test/simulation/generated-agents.ts';
const per = Number(process.argv[2] ?? 200), from = Number(process.argv[3] ?? 1000);
let runs = 0, effects = 0; const c = process.cpuUsage();
for (let n = 0; n < 20; n++) {
  const { agent, options } = generatedAgent(n);
  const f = await simulate(agent, { ...options, seeds: Array.from({ length: n % 4 === 3 ? per >> 2 : per }, (_, i) => from + i), maxFailures: 3 });
  runs += f.runs; effects += f.effects;
  for (const x of f.failures) console.log(n, x.seed, x.count, x.check, '|', x.reason.slice(0, 400), '|', x.drawn.join('; '), x.records);
}
const u = process.cpuUsage(c);
console.log('runs', runs, 'effects', effects, 'runs/cpu s', (runs / (u.user + u.system) * 1e6).toFixed(0));
