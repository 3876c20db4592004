import type { MessageToolCall, ModelReply, ToolCalling } from '../../actors/model.ts';
import { type CallNotRun, readReplyText } from '../../parsing/reply/parse-reply.ts';
import { type TextCalls, withSpellings } from '../../parsing/reply/reply-source.ts';
import type { ToolName } from '../../parsing/calls/registered-tools.ts';
import { readPlan, type PlanStep, type ToolCallRequest } from '../../parsing/calls/call-forms.ts';
import { type ToolCallArguments, parseToolCallArguments } from '../../parsing/calls/arguments.ts';
import { DEFAULT_LIMITS, type Repair } from '../../parsing/repair/repairs.ts';
import type { Strategy } from '../../parsing/reply/envelope.ts';
import { isJsonObject } from '../../json/json.ts';
import { type CallRequest, boundedCall } from '../tool-call/call-request.ts';
import { envelopeOf } from '../llm-call/conversation.ts';
import type { ToolSpec } from '../../tools/spec.ts';
import { MAKE_PLAN } from './system-prompt.ts';
import type { ShownOutput, TypedAnswer } from './typed-output.ts';

/** A model's reply as the agent understands it. */
export interface ReadReply {
  readonly thought: string;
  readonly goal: string;
  /** null: there is none, or it is set aside because calls stand beside it. */
  readonly answer: string | null;
  /** It is not whole: its JSON ended early, or the length limit cut it off. */
  readonly cut: boolean;
  /** Why the server cut the reply short; null: it ended by itself. */
  readonly ended: 'refused' | 'content-filter' | 'length' | null;
  readonly calls: readonly CallRequest[];
  readonly plan: readonly PlanStep[] | null;
  readonly planError: string | null;
  readonly ambiguous: boolean;
  /** The server could not read the model's tool call. */
  readonly malformed: boolean;
  /** The calls as they stand in the assistant's message; empty where they were written as text. */
  readonly nativeCalls: readonly MessageToolCall[];
  /** The native call that brought the plan. */
  readonly planCallId: string | null;
  readonly strategy: Strategy | 'native';
  readonly dialect: string | null;
  readonly repairs: readonly Repair[];
  /** The format of the calls that were taken from the text; null where none was. */
  readonly form: string | null;
  /** A call in the text that was not taken, because the setting for calls in text does not allow it. */
  readonly notRun: (CallNotRun & { readonly textCalls: TextCalls }) | null;
  /** The text to keep in the conversation. */
  readonly text: string;
  /** The answer, where it has a schema and the reply brings one; read by `withTypedAnswer`. */
  readonly output: TypedAnswer | null;
}

interface ReadInput {
  readonly reply: ModelReply;
  readonly tools: readonly ToolSpec[];
  readonly toolCalling: ToolCalling;
  readonly textCalls: TextCalls;
  /** The only format, beside the envelope, in which text may be a call; null: every format may. */
  readonly heldTo: string | null;
  /** The first number for our own call ids. */
  readonly firstCall: number;
  /** What the ids of calls begin with. */
  readonly callPrefix: string;
  /** Ids that the conversation already has; models repeat theirs. */
  readonly isKnownId: (id: string) => boolean;
  /** False: a plan is not run, and the model is told. */
  readonly plans: boolean;
  /** Larger arguments are not run. */
  readonly maxArgumentBytes: number;
  /** How the answer was asked for, where it has a schema. */
  readonly shown: ShownOutput | null;
}

type Reading = Omit<ReadReply, 'ended' | 'output'>;

/** Reads a reply: native calls where there are any, else what its text holds. */
export function readReply(input: ReadInput): ReadReply {
  const read = (input.reply.toolCalls ?? []).length > 0 ? readNative(input) : readText(input);
  const planned = read.plan !== null || read.planError !== null;
  const refused = planned && !input.plans ? { plan: null, planError: NO_PLANS } : {};
  return {
    ...read,
    ...refused,
    ended: endOf(input.reply),
    calls: read.calls.map((call) => boundedCall(call, input.maxArgumentBytes)),
    output: null,
  };
}

/** Why a plan is not run where there are to be none. */
export const NO_PLANS = 'plans are switched off';

/** Words of servers; `content-filter` is how some of those write it that pass on the replies of others. */
const ENDS: ReadonlyMap<string, ReadReply['ended']> = new Map([
  ['refusal', 'refused'],
  ['content_filter', 'content-filter'],
  ['content-filter', 'content-filter'],
  ['length', 'length'],
]);

function endOf({ finishReason = '' }: ModelReply): ReadReply['ended'] {
  return ENDS.get(finishReason) ?? null;
}

function isLong(reply: ModelReply): boolean {
  return endOf(reply) === 'length';
}

/** Why unclosed JSON is incomplete. Only the server knows of a limit. */
function whyOpen(reply: ModelReply, whose: 'it was' | 'they were'): string {
  if (isLong(reply)) return `${whose} cut off`;
  return `${whose === 'it was' ? 'its' : 'their'} JSON ended early, before it was closed`;
}

/** How much of a reply is read: what the parser takes by itself, or more for larger arguments and the text around them. */
const charsRead = ({ maxArgumentBytes: most }: ReadInput): number => Math.max(DEFAULT_LIMITS.maxChars, most + 48_576);

/** Empty JSON: not a readable answer. */
const BLANK = /^(?:null|\{\s*\}|\[\s*\]|"\s*")$/;

function readText(input: ReadInput): Reading {
  const { reply, toolCalling, textCalls, heldTo, firstCall, callPrefix } = input;
  const finished = reply.finishReason === 'stop';
  const {
    reply: parsed,
    form,
    notRun,
  } = readReplyText(reply.content, {
    tools: toolsOf(input),
    textCalls,
    heldTo,
    finished,
    limits: { maxChars: charsRead(input) },
  });
  const calls = parsed.calls.map((call, index) => fromText(call, `${callPrefix}${firstCall + index}`, reply));
  const set = parsed.ambiguous === undefined;
  const malformed = reply.finishReason === 'malformed-tool-call';
  const planned = parsed.plan !== undefined || parsed.planError !== undefined;
  const planCut = isLong(reply) || !parsed.complete;
  const says = set && !malformed && !(toolCalling === 'json' && BLANK.test(reply.content.trim()));
  return {
    thought: reply.reasoning ?? parsed.thought,
    goal: parsed.goal,
    answer: calls.length > 0 || parsed.plan !== undefined || !says ? null : (parsed.answer ?? null),
    cut: isLong(reply) || (!parsed.complete && parsed.strategy !== 'text'),
    calls: set ? calls : [],
    plan: set && !planCut ? (parsed.plan ?? null) : null,
    planError: planned && planCut ? whyOpen(reply, 'it was') : (parsed.planError ?? null),
    ambiguous: !set,
    malformed,
    nativeCalls: [],
    planCallId: null,
    strategy: parsed.strategy,
    dialect: parsed.dialect ?? null,
    repairs: parsed.repairs,
    form,
    notRun: notRun === null ? null : { ...notRun, textCalls },
    text: withoutThinking(reply.content),
  };
}

/** What text may call: the tools, and those that give the answer. */
function toolsOf({ tools, shown }: ReadInput): readonly ToolName[] {
  return shown === null ? tools : [...tools, ...shown.tools.map(({ tool }) => tool)];
}

function fromText(call: ToolCallRequest, callId: string, reply: ModelReply): CallRequest {
  const whole = call.complete && (call.issues ?? []).length === 0;
  const issues = (call.issues ?? []).map((issue) => issue.message).join('; ');
  const reason = call.complete ? issues : whyOpen(reply, 'they were');
  return {
    callId,
    tool: call.name,
    args: call.args,
    unreadable: whole ? null : { raw: rawText(call), reason, truncated: !call.complete && isLong(reply) },
    toolCallId: null,
  };
}

function readNative(input: ReadInput): Reading {
  const { reply, firstCall, callPrefix, isKnownId } = input;
  const used = new Set<string>();
  const isTaken = (id: string): boolean => used.has(id) || isKnownId(id);
  const read = (reply.toolCalls ?? []).map((call, index, { length }) => {
    const id = freshId(call.id, `call_${firstCall + index}`, isTaken);
    used.add(id);
    // Where the limit came right behind the name, the arguments were yet to come.
    const raw = isLong(reply) && index === length - 1 && isNothing(call.arguments) ? '{' : call.arguments;
    const parsed = parseToolCallArguments(raw, DEFAULT_LIMITS.maxDepth, charsRead(input));
    return { id, tool: call.name, parsed, raw };
  });
  // Of several plans, the first that can be read is the one.
  const planned = read.filter(({ tool }) => tool === MAKE_PLAN);
  const plans = planned.map(({ id, parsed }) => ({ id, ...planOf(parsed, reply) }));
  const plan = plans.find(({ steps }) => steps !== null) ?? plans[0];
  const asked = read.filter(({ tool }) => tool !== MAKE_PLAN);
  const spelled = withSpellings(
    {
      calls: asked.map(({ tool, parsed }) => ({ name: tool, args: parsed.ok ? parsed.value : null, complete: true })),
      ...(plan?.steps == null ? {} : { plan: plan.steps }),
      repairs: read.flatMap(({ parsed }) => (parsed.ok ? parsed.repairs : [])),
    },
    toolsOf(input),
  );
  const calls = asked.map(({ id, tool, parsed, raw }, index) => ({
    callId: `${callPrefix}${firstCall + index}`,
    tool,
    ...argumentsOf(parsed.ok ? { ...parsed, value: spelled.calls[index]?.args ?? null } : parsed, raw, reply),
    toolCallId: id,
  }));
  return {
    thought: reply.reasoning ?? withoutThinking(reply.content),
    goal: '',
    answer: null,
    cut: false,
    calls,
    plan: spelled.plan ?? null,
    planError: plan?.error ?? null,
    ambiguous: false,
    malformed: false,
    nativeCalls: read.map(({ id, tool, parsed }) => ({
      id,
      name: tool,
      arguments: parsed.ok ? JSON.stringify(parsed.value) : '{}',
    })),
    planCallId: plan?.id ?? null,
    strategy: 'native',
    dialect: null,
    repairs: spelled.repairs,
    form: null,
    notRun: null,
    text: withoutThinking(reply.content),
  };
}

/** A reply with unrequested native calls, as it is kept in a conversation in json mode: the calls are text. */
export function inJsonMode(reply: ReadReply): ReadReply {
  if (reply.nativeCalls.length === 0) return reply;
  const text = [reply.text, ...reply.nativeCalls.map(envelopeOf)].filter((part) => part !== '').join('\n');
  const calls = reply.calls.map((call) => ({ ...call, toolCallId: null }));
  return { ...reply, calls, nativeCalls: [], planCallId: null, text };
}

function planOf(
  args: ToolCallArguments,
  reply: ModelReply,
): { readonly steps: readonly PlanStep[] | null; readonly error: string | null } {
  if (!args.ok) return { steps: null, error: 'its arguments could not be read' };
  if (!args.complete) return { steps: null, error: whyOpen(reply, 'it was') };
  const given = isJsonObject(args.value) ? (args.value.plan ?? args.value.steps ?? []) : args.value;
  const { plan, planError } = readPlan(given, true);
  return { steps: plan ?? null, error: planError ?? null };
}

function argumentsOf(
  parsed: ToolCallArguments,
  raw: unknown,
  reply: ModelReply,
): Pick<CallRequest, 'args' | 'unreadable'> {
  if (!parsed.ok)
    return {
      args: null,
      unreadable: { raw: typeof raw === 'string' ? raw : '', reason: parsed.reason, truncated: false },
    };
  if (!parsed.complete) {
    const text = typeof raw === 'string' ? raw : rawText({ args: parsed.value, complete: false });
    return {
      args: parsed.value,
      unreadable: { raw: text, reason: whyOpen(reply, 'they were'), truncated: isLong(reply) },
    };
  }
  return { args: parsed.value, unreadable: null };
}

/** No argument; gateways to Claude begin every call with an empty object. */
function isNothing(args: unknown): boolean {
  return /^(?:\{\})?$/.test(typeof args === 'string' ? args.trim() : JSON.stringify(args ?? {}));
}

function freshId(given: string | undefined, made: string, isTaken: (id: string) => boolean): string {
  if (given !== undefined && given !== '' && !isTaken(given)) return given;
  let id = made;
  for (let count = 2; isTaken(id); count++) id = `${made}_${count}`;
  return id;
}

/** Arguments as text. What was cut off stays open: no function of `onError` may take it for whole. */
function rawText({ args, complete }: Pick<ToolCallRequest, 'args' | 'complete'>): string {
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  return complete ? text : text.replace(/(?<!["}\]])["}\]]+$/, '');
}

/** Reasoning at the head of a reply is not sent back: it costs tokens and models are not trained on it. */
function withoutThinking(text: string): string {
  if (!text.trimStart().startsWith('<think>')) return text;
  const end = text.indexOf('</think>');
  if (end === -1) return text;
  // A copy: V8 lets a part of a text hold all of it, and this part stays in the history.
  return Array.from(text.slice(end + '</think>'.length).trim()).join('');
}
