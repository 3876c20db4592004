import type { JsonSchema, RecoveredJson, Reply } from '../../parsing/index.ts';
import { parseReply, recoverJson } from '../../parsing/index.ts';

/** A text and what was recovered from it: a reply, or the value that a schema asked for. */
export type Reading = {
  readonly text: string;
  /** There is something to go on with: an answer, a call, a plan or a value. */
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
