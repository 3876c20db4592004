import { createRequire } from 'node:module';
import { isJsonObject } from '../parsing/json.ts';

/** The version of this package, from its package.json: two folders up both in the sources and when built. */
export function packageVersion(): string {
  const description: unknown = createRequire(import.meta.url)('../../package.json');
  const version = isJsonObject(description) ? description.version : undefined;
  return typeof version === 'string' ? version : 'unknown';
}
