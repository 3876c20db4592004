import { callLlm } from '../../actors/call-llm.ts';
import type { LeafError } from '../../actors/journal.ts';
import { deepFreeze, leafErrorOf } from '../../actors/leaf.ts';
import {
  type Message,
  ModelError,
  type ModelReply,
  type ModelRequest,
  type ModelTool,
  type ToolCalling,
} from '../../actors/model.ts';
import { isJsonObject, type JsonObject, type JsonSchema } from '../../json/json.ts';
import { backoffMs } from '../../recovery/backoff.ts';
import { type AgentSettings, MOST_MICROSTEPS } from '../contract/agent-setup.ts';
import { shortenOlderResults, toJsonMode, withoutImages } from './conversation.ts';
import { assign, setup } from 'xstate';

/**
 * One turn of the model, retries included.
 *
 * I1 At most `maxAttempts` requests count as attempts; a server that refuses tools is asked again in json mode, once,
 *    and a context that is too long is shortened, once, where it can be: neither counts.
 * I2 It never ends in an error: SUCCEEDED and FAILED both have an output.
 */

/** How a model turn ended. `toolCalling` is the mode that worked, to be kept for the rest of the run. */
export type LlmCallOutput =
  | {
      readonly kind: 'model.replied';
      readonly reply: ModelReply;
      readonly toolCalling: ToolCalling;
      readonly attempts: number;
      readonly shortened: boolean;
    }
  | {
      readonly kind: 'model.failed';
      readonly error: LeafError;
      readonly toolCalling: ToolCalling;
      readonly attempts: number;
      readonly shortened: boolean;
    };

/** The memory of one model turn. */
export interface LlmCallContext extends LlmCallInput {
  readonly attempts: number;
  readonly shortened: boolean;
  readonly reply: ModelReply | null;
  readonly error: LeafError | null;
}

/** A server that asks for a longer pause than this is not waited for. */
const LONGEST_PAUSE_MS = 60_000;

export const llmCallMachine = setup({
  types: {
    context: {} as LlmCallContext,
    input: {} as LlmCallInput,
    output: {} as LlmCallOutput,
    events: {} as { readonly type: 'xstate.done.actor.callLlm'; readonly output: ModelReply; readonly actorId: string },
  },
  actors: {
    callLlm: callLlm({
      model: () => {
        throw new ModelError('no-model', 'No model was provided. Use agentMachine.provide({ actors: agent.actors }).');
      },
    }),
  },
  guards: {
    toolsRefused: ({ context, event }) =>
      leafErrorOf(event).code === 'no-native-tools' && context.toolCalling === 'native',
    replyMalformed: ({ event }) => leafErrorOf(event).code === 'malformed-tool-call',
    contextTooLong: ({ context, event }) =>
      leafErrorOf(event).code === 'context-overflow' &&
      !context.shortened &&
      shortenOlderResults(context.messages) !== context.messages,
    timedOutWithAttemptsLeft: ({ context, event }) =>
      leafErrorOf(event).code === 'timeout' && mayTryAgain(context, leafErrorOf(event)),
    attemptsLeft: ({ context, event }) => mayTryAgain(context, leafErrorOf(event)),
  },
  actions: {
    countAttempt: assign({ attempts: ({ context }) => context.attempts + 1 }),
    takeReply: assign({ reply: (_, reply: ModelReply) => reply }),
    takeMalformedText: assign({ reply: ({ event }) => malformedReply(leafErrorOf(event)) }),
    takeError: assign({ error: ({ event }) => leafErrorOf(event) }),
    switchToJsonMode: assign({
      toolCalling: 'json',
      messages: ({ context }) => toJsonMode(context.messages),
      attempts: ({ context }) => context.attempts - 1,
    }),
    shortenContext: assign({
      shortened: true,
      messages: ({ context }) => shortenOlderResults(context.messages),
      attempts: ({ context }) => context.attempts - 1,
    }),
  },
  delays: {
    pause: ({ context }) => pauseBefore(context),
  },
}).createMachine({
  id: 'llmCall',
  options: { maxIterations: MOST_MICROSTEPS },
  context: ({ input }) => ({ ...input, attempts: 0, shortened: false, reply: null, error: null }),
  initial: 'ATTEMPTING',
  states: {
    ATTEMPTING: {
      entry: 'countAttempt',
      invoke: {
        id: 'callLlm',
        src: 'callLlm',
        input: ({ context }) => ({
          request: composeRequest(context),
          connectMs: context.settings.connectMs,
          responseMs: context.settings.responseMs,
          model: context.model,
          agent: context.agent,
        }),
        onDone: { target: 'SUCCEEDED', actions: { type: 'takeReply', params: ({ event }) => event.output } },
        onError: [
          { guard: 'toolsRefused', target: 'ATTEMPTING', reenter: true, actions: 'switchToJsonMode' },
          { guard: 'contextTooLong', target: 'ATTEMPTING', reenter: true, actions: 'shortenContext' },
          { guard: 'replyMalformed', target: 'SUCCEEDED', actions: 'takeMalformedText' },
          { guard: 'timedOutWithAttemptsLeft', target: 'BACKING_OFF', actions: 'takeError' },
          { guard: 'attemptsLeft', target: 'BACKING_OFF', actions: 'takeError' },
          { target: 'FAILED', actions: 'takeError' },
        ],
      },
    },
    BACKING_OFF: { after: { pause: 'ATTEMPTING' } },
    SUCCEEDED: { type: 'final' },
    FAILED: { type: 'final' },
  },
  output: ({ context }) => {
    const { toolCalling, attempts, shortened, reply } = context;
    if (reply !== null) return { kind: 'model.replied', reply, toolCalling, attempts, shortened };
    const error = context.error ?? { code: 'model-error', message: 'the model call ended without a reply' };
    return { kind: 'model.failed', error, toolCalling, attempts, shortened };
  },
});

function mayTryAgain(context: LlmCallContext, error: LeafError): boolean {
  const { retryable } = detailsOf(error);
  const hopeless =
    retryable === false || (pauseAsked(error) ?? 0) > LONGEST_PAUSE_MS || error.code === 'context-overflow';
  return context.attempts < context.settings.maxAttempts && !hopeless;
}

/** What the server asks for, and at least the backoff; without a word of it, a busy server gets more time. */
function pauseBefore({ error, attempts, seed, settings }: LlmCallContext): number {
  const { backoff, busyBackoff = backoff, totalMs } = settings;
  const asked = pauseAsked(error);
  if (asked !== undefined) return Math.max(asked, backoffMs(backoff, attempts, seed));
  if (!isBusy(error)) return backoffMs(backoff, attempts, seed);
  // A run that has little time in all keeps most of it for the attempt.
  return Math.min(backoffMs(busyBackoff, attempts, seed), (totalMs ?? Infinity) / 4);
}

function isBusy(error: LeafError | null): boolean {
  const { status } = detailsOf(error);
  if (error?.code === 'rate-limited' || error?.code === 'server-error') return true;
  return typeof status === 'number' && (status === 429 || status >= 500);
}

function pauseAsked(error: LeafError | null): number | undefined {
  const { retryAfterMs } = detailsOf(error);
  return typeof retryAfterMs === 'number' ? retryAfterMs : undefined;
}

function detailsOf(error: LeafError | null): JsonObject {
  return error !== null && isJsonObject(error.data) ? error.data : {};
}

function malformedReply(error: LeafError): ModelReply {
  const { details } = detailsOf(error);
  const text = isJsonObject(details) && typeof details.text === 'string' ? details.text : '';
  return { content: text, finishReason: 'malformed-tool-call' };
}

/** What one model turn is asked. */
export interface LlmCallInput {
  readonly system: { readonly [mode in ToolCalling]: Message };
  readonly messages: readonly Message[];
  readonly tools: readonly ModelTool[];
  /** The schema of the answer, and what a native request holds the whole reply to, where it does. Null or absent: text. */
  readonly responseSchema?: { readonly answer: JsonSchema; readonly native: JsonObject | null } | null;
  readonly toolCalling: ToolCalling;
  readonly settings: AgentSettings;
  readonly seed: number;
  /** The model that is asked; empty: the agent's own. */
  readonly model: string;
  /** The agent that asks, by its place in the tree; empty for the root. */
  readonly agent: string;
}

/** The envelope that a model writes in json mode, as a schema for servers that can hold it to one. */
const ENVELOPE_SCHEMA = envelopeSchema({
  plan: {
    type: 'array',
    items: {
      type: 'object',
      properties: { tool: { type: 'string' }, tool_args: { type: 'object' } },
      required: ['tool'],
    },
  },
});
const WITHOUT_PLAN = envelopeSchema({});

/** What the server may hold the reply to: the envelope, or the answer where it has a schema and stands alone. */
function heldTo({ toolCalling, responseSchema = null, settings }: LlmCallInput): Partial<ModelRequest> {
  if (toolCalling === 'native') {
    const schema = responseSchema?.native ?? null;
    return schema === null ? {} : { responseSchema: schema, strictSchema: true };
  }
  const envelope = settings.plans === false ? WITHOUT_PLAN : ENVELOPE_SCHEMA;
  return { responseSchema: responseSchema === null ? envelope : withAnswer(envelope, responseSchema.answer) };
}

/** The envelope with an answer of this schema. References to its own root would lead elsewhere: such an answer stays open. */
function withAnswer(envelope: JsonObject, answer: JsonSchema): JsonObject {
  const { $defs, definitions, ...rest } = isJsonObject(answer) ? answer : {};
  const isClosed = !/"\$ref":"#(?!\/(?:\$defs|definitions)\/)/.test(JSON.stringify(rest));
  const properties = isJsonObject(envelope.properties) ? envelope.properties : {};
  return {
    ...envelope,
    properties: { ...properties, answer: isClosed ? rest : {} },
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

function envelopeSchema(plan: JsonObject): JsonObject {
  return deepFreeze({
    type: 'object',
    properties: {
      thought: { type: 'string' },
      goal: { type: 'string' },
      tool: { type: 'string' },
      tool_args: { type: 'object' },
      ...plan,
      answer: { type: 'string' },
    },
  });
}

/** The request of one attempt: the system prompt first, then the conversation as it stands. */
export function composeRequest(input: LlmCallInput): ModelRequest {
  const { settings, toolCalling, tools } = input;
  const native = toolCalling === 'native' && tools.length > 0;
  // Of another model than the agent's own it is not known whether it takes images.
  const takesImages = settings.images === 'sent' && input.model === '';
  return {
    messages: [input.system[toolCalling], ...(takesImages ? input.messages : withoutImages(input.messages))],
    toolCalling,
    ...(native ? { tools, parallelToolCalls: settings.parallelToolCalls } : {}),
    ...heldTo(input),
    stream: settings.streaming,
    ...(settings.temperature === null ? {} : { temperature: settings.temperature }),
    ...(settings.maxTokens === null ? {} : { maxTokens: settings.maxTokens }),
  };
}
