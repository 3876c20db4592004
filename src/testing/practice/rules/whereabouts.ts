import { findTool, finishedCalls, type PracticeCall, type Scene } from '../scene.ts';

/** Where a file server works: known, to be asked for first, or not to be had. */
export type Whereabouts =
  | { readonly kind: 'known'; readonly folders: readonly string[] }
  | { readonly kind: 'ask'; readonly call: PracticeCall }
  | { readonly kind: 'unknown' };

/** Finds out which folders the tools may look into. */
export function whereabouts(scene: Scene): Whereabouts {
  const tool = findTool(scene, 'list_allowed_directories');
  if (tool === undefined) return { kind: 'unknown' };
  const asked = finishedCalls(scene, tool).at(-1);
  if (asked === undefined) return { kind: 'ask', call: { tool: tool.name, args: {} } };
  if (!asked.result.ok) return { kind: 'unknown' };
  const folders = asked.result.text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.endsWith(':'));
  return folders.length === 0 ? { kind: 'unknown' } : { kind: 'known', folders };
}

/** True for a path that begins at a root, on any system. */
export function isAbsolute(path: string): boolean {
  return /^(?:[A-Za-z]:)?[\\/]|^~/.test(path);
}

/** A path below a folder, in the folder's own manner of writing. */
export function below(folder: string, path: string): string {
  const slash = folder.includes('\\') && !folder.includes('/') ? '\\' : '/';
  const inner = path.replace(/^\.[\\/]/, '');
  return inner === '' || inner === '.' ? folder : `${folder.replace(/[\\/]$/, '')}${slash}${inner}`;
}
