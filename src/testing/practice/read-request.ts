import { isJsonObject } from '../../json/json.ts';
import type { PracticeRequest } from './read-scene.ts';

/** Reads a chat request; undefined when it is none. */
export function readRequest(text: string): PracticeRequest | undefined {
  const body = parsed(text);
  const messages: readonly unknown[] = isJsonObject(body) && Array.isArray(body['messages']) ? body['messages'] : [];
  if (!isJsonObject(body) || messages.length === 0) return undefined;
  const options = body['stream_options'];
  return {
    messages: messages.filter(isJsonObject),
    tools: Array.isArray(body['tools']) ? body['tools'] : [],
    stream: body['stream'] === true,
    includeUsage: isJsonObject(options) && options['include_usage'] === true,
  };
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
