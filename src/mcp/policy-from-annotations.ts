import type { McpTool } from '../actors/mcp-calls.ts';
import { MUTATING_VERBS } from './mutating-verbs.ts';

const VERBS: ReadonlySet<string> = new Set(MUTATING_VERBS);
const PREFIXES: readonly string[] = MUTATING_VERBS.filter((verb) => verb.length >= 4);

/**
 * Decides from what a server says of a tool whether a person must agree to its calls. `allow` only where the server
 * says that the tool is read-only and no piece of its name is a mutating verb; everything else is `confirm`.
 *
 * @example policyFromAnnotations({ name: 'list_files', annotations: { readOnlyHint: true } }); // 'allow'
 */
export function policyFromAnnotations(tool: Pick<McpTool, 'name' | 'annotations'>): 'allow' | 'confirm' {
  if (tool.annotations?.readOnlyHint !== true) return 'confirm';
  const words = wordsOf(tool.name);
  return words.length > 0 && !words.some(isMutating) ? 'allow' : 'confirm';
}

function isMutating(word: string): boolean {
  return VERBS.has(word) || PREFIXES.some((verb) => word.startsWith(verb));
}

/** Every whole segment of a name and its pieces, in lower case: `getHTTPStatus2` is also `get`, `http`, `status`, `2`. */
function wordsOf(name: string): readonly string[] {
  const segments = name.split(/[^\p{L}\p{N}]+/u).filter((segment) => segment !== '');
  return segments.flatMap((segment) => [segment, ...piecesOf(segment)]).map((word) => word.toLowerCase());
}

function piecesOf(segment: string): readonly string[] {
  return segment.split(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u);
}
