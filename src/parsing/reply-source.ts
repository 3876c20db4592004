import { type Limits, resolveLimits } from './limits.ts';
import { maskReply } from './masks.ts';
import type { Repair } from './reply.ts';
import { type ToolName, type ToolNames, toolNames } from './tool-names.ts';

/**
 * Which text may become a call. `lenient`: a call that stands in prose, too · `whole-reply`: only a message that is
 * nothing but the call, thoughts, one fence and end marks aside · `never`: no text at all.
 */
export type TextCalls = 'never' | 'whole-reply' | 'lenient';

/** What `parseReply` may be told about the reply that it reads. */
export interface ParseReplyOptions {
  /** The registered tools. Without them, calls count in the envelope only. */
  readonly tools?: readonly ToolName[];
  /** Which text may become a call; the default is `lenient`. */
  readonly textCalls?: TextCalls;
  readonly limits?: Partial<Limits>;
}

/** Counts the characters that a reading looked at, so that a test can prove the work linear. */
export interface Meter {
  steps: number;
}

/** A reply's text with all that the strategies need to know about it. */
export interface ReplySource {
  /** The text with reasoning blanked out; positions are those of the original. */
  readonly text: string;
  readonly end: number;
  readonly thinking: string;
  /** False when the text was longer than the limit or ended inside a reasoning block. */
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  readonly tools: ToolNames | undefined;
  readonly maxDepth: number;
  readonly meter: Meter;
}

/** Prepares a text for the strategies: cut to the limit, reasoning and trailing tokens set apart. */
export function replySource(raw: string, options: ParseReplyOptions | undefined, meter: Meter): ReplySource {
  const { maxChars, maxDepth } = resolveLimits(options?.limits);
  const tooLong = raw.length > maxChars;
  const masked = maskReply(tooLong ? raw.slice(0, maxChars) : raw);
  meter.steps += masked.text.length;
  return {
    text: masked.text,
    end: masked.end,
    thinking: masked.thinking,
    complete: !tooLong && !masked.openThinking,
    repairs: tooLong ? [cutAt(maxChars), ...masked.repairs] : masked.repairs,
    tools: toolNames(options?.tools),
    maxDepth,
    meter,
  };
}

function cutAt(maxChars: number): Repair {
  return { kind: 'too-long', message: `only the first ${maxChars} characters were read`, at: maxChars, cost: 5 };
}
