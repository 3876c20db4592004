import { hasSpelling } from '../../json/depth.ts';
import type { Json } from '../../json/json.ts';
import { optionsOf } from '../../json/known-options.ts';
import { asWritten } from '../calls/arguments.ts';
import { type RegisteredTools, type ToolName, NO_TOOLS, registeredTools } from '../calls/registered-tools.ts';
import { DialectSource } from '../dialects/dialect.ts';
import { type Limits, type Repair, checkLimits, resolveLimits } from '../repair/repairs.ts';
import type { Reply } from './envelope.ts';
import { messageEnd } from './special-tokens.ts';

/**
 * Which text may become a call. `lenient`: a call that stands in prose, too · `narrated`: one call with whole sentences
 * around it · `whole-reply`: only a message that is nothing but the call, thoughts, one fence and end marks aside ·
 * `never`: no text at all.
 */
export type TextCalls = 'never' | 'whole-reply' | 'narrated' | 'lenient';

/** Options of `parseReply`. */
export interface ParseReplyOptions {
  /** The registered tools. Without them, calls count in the envelope only. */
  readonly tools?: readonly ToolName[] | undefined;
  /** Which text may become a call; the default is `lenient`. */
  readonly textCalls?: TextCalls | undefined;
  readonly limits?: Partial<Limits> | undefined;
}

const checkNames = optionsOf<ParseReplyOptions>('parseReply', 'docs/models.md', {
  tools: true,
  textCalls: true,
  limits: true,
});

/** Refuses options of a reader of replies that are not known. */
export function checkReplyOptions(what: string, options: ParseReplyOptions | undefined): void {
  checkNames(options, what);
  checkLimits(options?.limits, `${what}: limits`);
}

/** Counts the characters that a reading looked at, so that a test can prove the work linear. */
export interface Meter {
  steps: number;
}

/** A reply's text with everything that its readers need to know about it. */
export interface ReplySource {
  readonly source: DialectSource;
  /** False when the text was longer than the limit. */
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  readonly tools: RegisteredTools | undefined;
}

/** Prepares a text: cut to the limit, special tokens at its end left out. */
export function replySource(raw: string, options: ParseReplyOptions | undefined): ReplySource {
  const { maxChars, maxDepth } = resolveLimits(options?.limits);
  const tooLong = raw.length > maxChars;
  const text = tooLong ? raw.slice(0, maxChars) : raw;
  const tools = registeredTools(options?.tools);
  return {
    source: new DialectSource(text, messageEnd(text), { maxDepth, tools: tools ?? NO_TOOLS }),
    complete: !tooLong,
    repairs: tooLong ? [cutAt(maxChars)] : [],
    tools,
  };
}

function cutAt(maxChars: number): Repair {
  return { kind: 'too-long', message: `only the first ${maxChars} characters were read`, at: maxChars, cost: 5 };
}

/** What was read, with the numbers that tools take as text as they were written. */
export function withSpellings<R extends Pick<Reply, 'calls' | 'plan' | 'repairs'>>(read: R, given: unknown): R {
  const { calls, plan } = read;
  if (!calls.some(({ args }) => hasSpelling(args)) && plan?.some(({ args }) => hasSpelling(args)) !== true) return read;
  const tools = registeredTools(given) ?? NO_TOOLS;
  const repairs: Repair[] = [...read.repairs];
  const written = (name: string, args: Json): Json => {
    const spelled = asWritten(args, tools.schema(name) ?? true);
    repairs.push(...spelled.repairs);
    return spelled.value;
  };
  return {
    ...read,
    calls: calls.map((call) => ({ ...call, args: written(call.name, call.args) })),
    ...(plan === undefined ? {} : { plan: plan.map((step) => ({ ...step, args: written(step.tool, step.args) })) }),
    repairs,
  };
}
