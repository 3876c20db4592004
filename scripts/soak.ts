import { spawnSync } from 'node:child_process';

// The long proofs. `npm run soak` runs all of them, `npm run soak kills` one, `npm run soak -- --list` names them;
// SIGNALBOX_SEED=7 takes another seed. The tests are those of the suite, which run a sample of the same there: see
// test/support/soak.ts. What the last full runs gave stands in docs/proof.md.
const PROOFS: Readonly<Record<string, readonly string[]>> = {
  machines: ['test/machines/mutants', 'test/testing/explore-'],
  kills: ['test/chaos'],
  anywhere: ['test/kills/anywhere', 'test/kills/three-processes', 'test/kills/due-runs'],
  workers: ['test/kills/workers', 'test/journal/postgres'],
  conversations: ['test/agent/conversations/killed-talks', 'test/agent/conversations/random-'],
  restate: ['test/restate/killed-runs', 'test/restate/restate-agent'],
  damage: ['test/journal/flipped-bits', 'test/journal/torn', 'test/journal/format'],
  llama: ['test/models/llama-server'],
  mcp: ['test/mcp/hostile-everywhere', 'test/mcp/hostile-memory', 'test/mcp/soak', 'test/mcp/random-events'],
  authority: ['test/authority'],
  laws: [
    'test/property',
    'test/models/properties',
    'test/testing/hostile-model',
    'test/agent/late-readers',
    'test/agent/kept-runs',
    'test/tools/security/terminal-confirm-screen',
  ],
  simulate: ['test/testing/simulate', 'test/simulation'],
  browser: ['test/browser/long-run', 'test/browser/many-runs', 'test/browser/axe'],
  ui: ['test/ui/cuts', 'test/store/cut-streams'],
};
const THREE_HOURS = '10800000';

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => PROOFS[name] === undefined);
if (unknown.length > 0) {
  if (!asked.includes('--list')) console.error(`There is no long proof '${unknown.join("', '")}'. There are:`);
  for (const [name, files] of Object.entries(PROOFS)) console.log(`${name.padEnd(10)} ${files.join(' ')}`);
  process.exitCode = asked.includes('--list') ? 0 : 1;
} else {
  const files = (asked.length === 0 ? Object.keys(PROOFS) : asked).flatMap((name) => PROOFS[name] ?? []);
  const vitest = [
    '--unhandled-rejections=strict',
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'vitest.config.ts',
  ];
  const { status } = spawnSync(process.execPath, [...vitest, '--testTimeout', THREE_HOURS, ...files], {
    stdio: 'inherit',
    env: { ...process.env, SIGNALBOX_SOAK: '1' },
  });
  process.exitCode = status ?? 1;
}
