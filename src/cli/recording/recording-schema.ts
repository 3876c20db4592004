import { readFileSync } from 'node:fs';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { issuesOf } from '../../parsing/schema/issues-of.ts';

/** Something wrong in a line of a recording. */
export interface LineProblem {
  readonly line: number;
  /** JSON Pointer; empty for the whole line. */
  readonly path: string;
  readonly message: string;
}

/** Holds every line of a recording against the JSON Schema that the package ships. A torn last line is no problem. */
export function checkLines(text: string): readonly LineProblem[] {
  const schema: JsonObject = JSON.parse(
    readFileSync(new URL('../../../schema/recording.schema.json', import.meta.url), 'utf8'),
  );
  const lines = text.split('\n');
  return lines.flatMap((written, index) => {
    const line = index + 1;
    if (written.trim() === '') return [];
    const parsed = parse(written);
    if (parsed === undefined) return line === lines.length ? [] : [{ line, path: '', message: 'is no JSON' }];
    return lineIssues(parsed, schema).map((issue) => ({ line, ...issue }));
  });
}

function parse(line: string): Json | undefined {
  try {
    const value: Json = JSON.parse(line);
    return value;
  } catch {
    return undefined;
  }
}

/** Held against the schema of its own kind: to be told that it fits none of many helps nobody. */
function lineIssues(line: Json, schema: JsonObject): readonly Omit<LineProblem, 'line'>[] {
  const { $defs = {} } = schema;
  const kind = isJsonObject(line) && typeof line['t'] === 'string' ? line['t'] : '';
  const own = isJsonObject($defs) && KINDS.has(kind) ? $defs[kind] : schema;
  const by: JsonObject = isJsonObject(own) ? { ...own, $defs } : schema;
  return issuesOf(line, by);
}

const KINDS: ReadonlySet<string> = new Set([
  'run',
  'start',
  'outcome',
  'timer',
  'event',
  'end',
  'restart',
  'note',
  'blob',
]);
