import { join } from 'node:path';
import { sqliteJournal } from '../../src/journal/sqlite.ts';
import { storeContract } from './store-contract.ts';
import { processContract } from './store-processes.ts';
import { temporaryFolder } from './temporary-folder.ts';

for (const durability of ['process', 'power'] as const) {
  storeContract(`sqliteJournal, durability ${durability},`, async () => {
    const folder = await temporaryFolder();
    return { store: sqliteJournal(join(folder.path, 'deep/runs.sqlite'), { durability }), ...folder };
  });
}

processContract('sqlite', (folder) => join(folder, 'runs.sqlite'));
