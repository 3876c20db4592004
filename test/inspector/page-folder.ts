import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testFolder } from '../support/test-folder.ts';

/** The smallest page that an inspector can serve and save, for tests that are not about the page. */
export function pageFolder(): string {
  const folder = testFolder();
  mkdirSync(join(folder, 'assets'));
  const html = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Signalbox</title>',
    '<link rel="stylesheet" href="assets/styles.css"><script type="module" src="assets/main.js"></script></head>',
    '<body><div id="page"></div></body></html>',
  ].join('\n');
  writeFileSync(join(folder, 'index.html'), html);
  writeFileSync(join(folder, 'assets', 'main.js'), 'const tag = "</script>"; console.log(tag);');
  writeFileSync(join(folder, 'assets', 'styles.css'), 'body { margin: 0; }');
  return folder;
}
