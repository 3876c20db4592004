import { join } from 'node:path';
import { fileJournal } from '../../src/journal/file.ts';
import { storeContract } from './store-contract.ts';
import { processContract } from './store-processes.ts';
import { temporaryFolder } from './temporary-folder.ts';

for (const durability of ['process', 'power'] as const) {
  storeContract(`fileJournal, durability ${durability},`, async () => {
    const folder = await temporaryFolder();
    return { store: fileJournal(join(folder.path, 'deep/runs'), { durability }), ...folder };
  });
}

processContract('file', (folder) => join(folder, 'runs'));
