import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../cli/spawn-cli.ts';
import { blocks, document, root } from './documents.ts';

const page = document('docs/simulation.md');
const [module] = blocks(page).filter(({ info }) => info === 'ts no-check: agent.ts');
const [, seed = '', written = ''] = /signalbox test (\d+) --agent agent\.ts +# Written: (\S+)/.exec(page.text) ?? [];

test('the way from a failure to a committed test, as docs/simulation.md goes it', async () => {
  await using folder = await temporaryFolder();
  const code = module?.code.replace("'signalbox'", `'${pathToFileURL(join(root, 'src/index.ts')).href}'`) ?? '';
  writeFileSync(join(folder.path, 'agent.ts'), code);
  writeFileSync(join(folder.path, 'once.ts'), code.replace("'idempotent'", "'once'"));
  const signalbox = async (line: string) => runCli(line.split(' '), { cwd: folder.path });

  // As many as the page runs take ten times as long, and name the same seed.
  const found = await signalbox(`simulate agent.ts --seeds 50`);
  expect(found.stdout).toContain('FAILED check: the card was charged twice\n');
  expect(found.stdout).toContain(`--seed ${seed}\n`);
  expect(page.text).toContain(`# FAILED check: the card was charged twice … --seed ${seed}\n`);
  const made = await signalbox(`test ${seed} --agent agent.ts`);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(`Written: ${written}\n`) });
  expect(made.stdout).toContain('It fails now');
  expect(readFileSync(join(folder.path, written), 'utf8')).toContain(`seeds: [${seed}]`);
  expect((await signalbox(`test ${seed} --agent once.ts`)).stderr).toBe(`Seed ${seed} does not fail.\n`);
});
