import { digest } from '../../json/digest.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { RunRecord } from '../format/record.ts';

/** Differences between a recorded request and the one of now that a replay may be told to accept. */
export type AllowedDifference = 'prompt' | 'tools';

/** How strictly a replay compares requests. */
export interface Tolerance {
  /**
   * `prompt`: the system prompt. `tools`: the tools that a request offers, and what the system prompt says of them while
   * the instructions are the recorded ones.
   */
  readonly allow: readonly AllowedDifference[];
  /** Which effects are wanted is compared, what they ask for is not: for a fork, whose outcomes are given anyway. */
  readonly anyRequest?: boolean;
  /** The head as this agent would have written it. */
  readonly now: RunRecord | null;
}

/** Whether two requests that differ are alike but for what is allowed. */
export function isTolerated(
  recorded: Json,
  now: Json,
  { allow, anyRequest = false, now: head }: Tolerance,
  instructions: string,
): boolean {
  if (anyRequest) return true;
  if (!isJsonObject(recorded) || !isJsonObject(now)) return false;
  const tools = allow.includes('tools');
  const prompt = allow.includes('prompt') || (tools && head?.instructions === instructions);
  if (!tools && !prompt) return false;
  const bare = (request: JsonObject): JsonObject => {
    const { tools: offered, responseSchema, messages, ...rest } = request;
    return {
      ...rest,
      ...(tools ? {} : given({ tools: offered, responseSchema })),
      ...given({ messages: prompt ? withoutPrompt(messages) : messages }),
    };
  };
  return digest(bare(recorded)) === digest(bare(now));
}

function withoutPrompt(messages: Json | undefined): Json | undefined {
  return Array.isArray(messages)
    ? messages.filter((message: Json) => !isJsonObject(message) || message.role !== 'system')
    : messages;
}

function given(members: { readonly [key: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(members).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}
