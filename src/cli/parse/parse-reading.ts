import { type JsonSchema, type RecoveredJson, type Reply, parseReply, recoverJson } from '../../parsing/index.ts';
import { createReadStream, readFileSync } from 'node:fs';
import { DEFAULT_LIMITS } from '../../parsing/repair/repairs.ts';
import { systemCode } from '../../security/folders.ts';
import { UsageError } from '../command/command.ts';
import { isJsonObject } from '../../json/json.ts';

/** A text and what was recovered from it: a reply, or the value that a schema asked for. */
export type Reading = {
  readonly text: string;
  /** There is something to continue with: an answer, a call, a plan or a value. */
  readonly usable: boolean;
} & (
  | {
      readonly kind: 'reply';
      readonly recovered: Reply;
      /** Calls in the formats of models count only where the tools are known. */
      readonly toolsKnown: boolean;
    }
  | { readonly kind: 'value'; readonly recovered: RecoveredJson }
);

/** What the reading goes by. */
interface ReadingOptions {
  readonly tools: readonly string[] | undefined;
  readonly schema: JsonSchema | undefined;
}

/** Reads a text as a reply, or with a schema as a value that fits it. */
export function readingOf(text: string, { tools, schema }: ReadingOptions): Reading {
  if (schema !== undefined) {
    const recovered = recoverJson(text, { schema });
    return { kind: 'value', text, usable: recovered.ok, recovered };
  }
  const recovered = parseReply(text, tools === undefined ? {} : { tools });
  const { answer, calls, plan } = recovered;
  const usable = answer !== undefined || calls.length > 0 || plan !== undefined;
  return { kind: 'reply', text, usable, recovered, toolsKnown: tools !== undefined };
}

/**
 * Reads the text of a file, or of standard input for `-`. No more is read than the parser looks at, and one piece beyond, so
 * that it can tell that there was more. Throws a {@link UsageError} for what cannot be read.
 */
export async function readParseInput(file: string): Promise<string> {
  if (file === '-' && process.stdin.isTTY) {
    console.error('Reading the terminal: Ctrl-D at the beginning of a line ends the reply.');
  }
  const stream = file === '-' ? process.stdin.setEncoding('utf8') : createReadStream(file, 'utf8');
  let text = '';
  try {
    for await (const piece of stream) {
      text += String(piece);
      if (text.length > DEFAULT_LIMITS.maxChars) break;
    }
  } catch (error) {
    throw new UsageError(unreadable(file, systemCode(error)));
  }
  return text;
}

function unreadable(file: string, code: string): string {
  const name = file === '-' ? 'standard input' : `'${file}'`;
  if (code === 'ENOENT' || code === 'ENOTDIR') return `there is no file ${name}.`;
  if (code === 'EISDIR') return `${name} is a folder. Name a file.`;
  return `${name} cannot be read${code === '' ? '' : ` (${code})`}.`;
}

/** Reads a JSON Schema from a file. Throws a {@link UsageError} that names the file for anything else. */
export function readParseSchema(file: string): JsonSchema {
  const schema = readJson(file);
  if (isJsonObject(schema) || typeof schema === 'boolean') return schema;
  throw new UsageError(`--schema: ${file} is not a JSON Schema, which is an object, true or false.`);
}

function readJson(file: string): unknown {
  const text = readText(file);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--schema: ${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\ufeff/, '');
  } catch (error) {
    throw new UsageError(`--schema: ${file} cannot be read (${systemCode(error)}). Is there such a file?`);
  }
}

/** What `JSON.stringify` leaves as it is, and a terminal obeys. */
const OBEYED = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A value as JSON on one line, harmless for a terminal: what a terminal would obey is written as an escape. */
export function machineJson(value: object): string {
  return JSON.stringify(value).replace(OBEYED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
