import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { localRequests } from '../../src/journal/run/run-requests.ts';
import { FileRequests } from '../../src/journal/stores/request-files.ts';
import { temporaryFolder } from './temporary-folder.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';

test('a request is answered once, whatever else lies in the folder, and what a dead process has left is removed', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'requests');
  mkdirSync(path);
  const old = `gone~${ID}.taken`;
  for (const name of [`%zz~${ID}.ask`, 'notes.txt', `run~${ID}.taken`, old]) writeFileSync(join(path, name), '{}');
  utimesSync(join(path, old), new Date(0), new Date(0));
  const served: unknown[] = [];
  const [here, there] = [new FileRequests(path), new FileRequests(path)];
  const stop = there.serve('a run', async (request) => ({ value: served.push(request) }));
  const answers = await Promise.all([here.ask('a run', { n: 1 }, 2000), here.ask('a run', { n: 2 }, 2000)]);
  expect(answers.map((answer) => Number(answer?.value)).toSorted((a, b) => a - b)).toEqual([1, 2]);
  expect(await here.ask('another run', { n: 3 }, 50)).toBeNull();
  stop();
  expect(await here.ask('a run', { n: 4 }, 50)).toBeNull();
  expect(served).toHaveLength(2);
  expect(readdirSync(path).toSorted()).toEqual([`%zz~${ID}.ask`, 'notes.txt', `run~${ID}.taken`].toSorted());
});

test.each([
  ['in files', (path: string) => new FileRequests(path)],
  ['in memory', () => localRequests()],
])('who drives a run again answers for it, although who drove it before ends later: %s', async (_where, make) => {
  await using folder = await temporaryFolder();
  const requests = make(join(folder.path, 'requests'));
  const end = requests.serve('run', async () => ({ value: 'before' }));
  const endAgain = requests.serve('run', async () => ({ value: 'again' }));
  end();
  expect(await requests.ask('run', { do: 'cancel' }, 20_000)).toEqual({ value: 'again' });
  const endOther = requests.serve('other', async () => ({ value: 'other' }));
  endAgain();
  // Longer than it takes until the other's requests are looked for.
  const asked = Promise.all([
    requests.ask('run', { do: 'cancel' }, 500),
    requests.ask('other', { do: 'cancel' }, 20_000),
  ]);
  expect(await asked).toEqual([null, { value: 'other' }]);
  endOther();
});

test('what a process asked that has died is not done when the run is driven again much later', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'requests');
  mkdirSync(path);
  const [old, notes] = [join(path, `run~${ID}.ask`), join(path, 'notes')];
  writeFileSync(old, '{"do":"cancel","reason":"at once"}');
  mkdirSync(notes);
  for (const one of [old, notes]) utimesSync(one, new Date(0), new Date(0));
  const served: unknown[] = [];
  const requests = new FileRequests(path);
  const stop = requests.serve('run', async (request) => ({ value: served.push(request) }));
  expect(await requests.ask('run', { do: 'approve' }, 2000)).toEqual({ value: 1 });
  stop();
  expect(served).toEqual([{ do: 'approve' }]);
  expect(readdirSync(path)).toEqual(['notes']);
});
