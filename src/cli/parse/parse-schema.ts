import { readFileSync } from 'node:fs';
import { isJsonObject, type JsonSchema } from '../../json/json.ts';
import { systemCode } from '../../security/folders.ts';
import { UsageError } from '../command.ts';

/** Reads a JSON Schema from a file. Throws a {@link UsageError} that names the file for anything else. */
export function readParseSchema(file: string): JsonSchema {
  const schema = readJson(file);
  if (isJsonObject(schema) || typeof schema === 'boolean') return schema;
  throw new UsageError(`--schema: ${file} holds no JSON Schema: that is an object, true or false.`);
}

function readJson(file: string): unknown {
  const text = readText(file);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--schema: ${file} is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\ufeff/, '');
  } catch (error) {
    throw new UsageError(`--schema: ${file} cannot be read (${systemCode(error)}). Is there such a file?`);
  }
}
