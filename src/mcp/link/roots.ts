import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { McpRoot } from '../questions/answers.ts';

/** Folders as servers want them named: paths, from the working directory or `~` on, and `file://` URIs as they are. */
export function rootsOf(folders: readonly string[]): readonly McpRoot[] {
  return folders.map((folder) => {
    if (folder.startsWith('file://')) return { uri: folder };
    const path = resolve(/^~(?=$|[\\/])/.test(folder) ? join(homedir(), folder.slice(1)) : folder);
    const name = basename(path);
    return { uri: pathToFileURL(path).href, ...(name === '' ? {} : { name }) };
  });
}
