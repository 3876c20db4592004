import type { JsonObject } from '../../json/json.ts';
import type { PromptTool } from '../../testing/tools-in-prompt.ts';

/** A tool call and what came of it. */
export interface Finished {
  readonly tool: string;
  readonly args: JsonObject;
  readonly result: ToolOutcome;
}

/** A tool's result as far as the rules need it: its text, and its data where it is JSON. */
export type ToolOutcome =
  /** `isWhole` is false where the middle was cut out on the way to the model. */
  | { readonly ok: true; readonly text: string; readonly data: unknown; readonly isWhole: boolean }
  | { readonly ok: false; readonly text: string };

/** All that the practice model goes by: the question of this exchange, the tools, and what has been done so far. */
export interface Scene {
  /** Without the words that ask for a mistake. */
  readonly question: string;
  /** The mistakes asked for, such as `truncated` for `practice:truncated`. */
  readonly mistakes: readonly string[];
  readonly tools: readonly PromptTool[];
  readonly finished: readonly Finished[];
  /** Replies that the model has already given to this question. */
  readonly turn: number;
  readonly native: boolean;
}

/** A call to make. */
export interface PracticeCall {
  readonly tool: string;
  readonly args: JsonObject;
}

/** The path that a call was made with. */
export function pathOf({ args }: Finished): string {
  return typeof args['path'] === 'string' ? args['path'] : '';
}

/** What the practice model says next. */
export type PracticeDecision =
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'calls'; readonly thought: string; readonly calls: readonly PracticeCall[] }
  | { readonly kind: 'plan'; readonly thought: string; readonly steps: readonly PracticeCall[] };

/** One thing that the practice model can do. Undefined: the question is none of its business. */
export type Rule = (scene: Scene) => PracticeDecision | undefined;

/** The tool with one of these names, the first name first, whatever server's name stands before it. */
export function findTool({ tools }: Scene, ...names: readonly string[]): PromptTool | undefined {
  return names
    .map((name) => tools.find((tool) => tool.name === name || tool.name.endsWith(`_${name}`)))
    .find((tool) => tool !== undefined);
}

/** What came of the calls of a tool. */
export function finishedCalls({ finished }: Scene, tool: PromptTool | undefined): readonly Finished[] {
  return finished.filter((call) => call.tool === tool?.name);
}

/** True when exactly this call was made before. */
export function wasCalled({ finished }: Scene, { tool, args }: PracticeCall): boolean {
  return finished.some((call) => call.tool === tool && JSON.stringify(call.args) === JSON.stringify(args));
}

/** Where a file server works: known, to be asked for first, or not to be had. */
type Whereabouts =
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
