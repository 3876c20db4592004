import { readFileSync, writeFileSync } from 'node:fs';
import { withDiagrams } from './diagrams/with-diagrams.ts';

// Draws the machines anew into the documents: run it after a machine was changed.
for (const file of ['README.md', 'docs/machines.md']) {
  const url = new URL(`../${file}`, import.meta.url);
  writeFileSync(url, withDiagrams(readFileSync(url, 'utf8')));
}
