import { withOutput } from '../contract/assign.ts';
import { callLlm } from '../../actors/call-llm.ts';
import type { LeafError } from '../../actors/journal.ts';
import { leafErrorOf } from '../../actors/leaf.ts';
import {
  type Message,
  ModelError,
  type ModelReply,
  type ModelRequest,
  type ModelTool,
  type ToolCalling,
} from '../../actors/model.ts';
import { deepFreeze, isJsonObject, type JsonObject, type JsonSchema } from '../../json/json.ts';
import { type AgentSettings, MOST_MICROSTEPS } from '../contract/agent-setup.ts';
import { shortLived } from '../contract/short-lived.ts';
import { type Less, toJsonMode, withLess, withoutImages } from './conversation.ts';
import {
  type ListedTurn,
  type ModelList,
  askedModel,
  detailsOf,
  isResting,
  learned,
  mayTryAgain,
  pauseBefore,
  turnAfter,
  turnBegun,
} from './model-list.ts';
import { setup } from 'xstate';
import { assign } from '../contract/assign.ts';

/**
 * One turn of the model, retries included, and the models that are asked instead.
 *
 * I1 At most `maxAttempts` requests count as attempts, over all models, or one for each of them where that is more; a
 *    server that refuses tools is asked again in json mode, once, and a conversation that is too long is asked again shorter
 *    each time, as long as it can be: neither counts, nor does a model that rests.
 * I2 It never ends in an error: SUCCEEDED and FAILED both have an output.
 * I3 With one model there is no other: FALLING_OVER is never reached.
 */

/** How a model turn ended. `toolCalling` is the mode that worked, to be kept for the rest of the run. */
export type LlmCallOutput =
  | {
      readonly kind: 'model.replied';
      readonly reply: ModelReply;
      readonly toolCalling: ToolCalling;
      readonly attempts: number;
      readonly shortened: boolean;
      /** How many of the oldest messages were left out; absent: none. */
      readonly leftOut?: number;
      /** The models, if there are several, with what was learned of them; the last one asked is the one that answered. */
      readonly list: ModelList | null;
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
  readonly list: ModelList | null;
  /** What each model of the list failed with last in this turn. */
  readonly failures: ListedTurn['failures'];
  readonly attempts: number;
  readonly shortened: boolean;
  readonly leftOut: number;
  readonly reply: ModelReply | null;
  readonly error: LeafError | null;
}

const machine = setup({
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
    anotherModelLeft: ({ context, event }) => {
      const after = turnAfter(context, leafErrorOf(event));
      return after !== null && after.list !== null && !after.waits;
    },
    contextTooLong: ({ context, event }) => leafErrorOf(event).code === 'context-overflow' && lessOf(context) !== null,
    timedOutWithAttemptsLeft: ({ context, event }) =>
      leafErrorOf(event).code === 'timeout' && mayTryAgain(context, leafErrorOf(event)),
    attemptsLeft: ({ context, event }) => mayTryAgain(context, leafErrorOf(event)),
  },
  actions: {
    countAttempt: assign({ attempts: ({ context }) => context.attempts + 1 }),
    takeReply: assign({ reply: (_, reply: ModelReply) => reply }),
    takeMalformedText: assign({ reply: ({ context, event }) => malformedReply(context, leafErrorOf(event)) }),
    takeError: assign(({ context, event }) => failed(context, leafErrorOf(event))),
    switchToJsonMode: assign({
      toolCalling: 'json',
      messages: ({ context: { list, messages } }) => (list === null ? toJsonMode(messages) : messages),
      list: ({ context: { list } }) => (list === null ? null : learned(list, { toolCalling: 'json' })),
      attempts: ({ context }) => context.attempts - 1,
    }),
    shortenContext: assign(({ context }) => ({
      ...lessOf(context),
      list: context.list === null ? null : { ...context.list, overflow: 0 },
      attempts: context.attempts - 1,
    })),
  },
  delays: {
    pause: ({ context }) => pauseBefore(context),
  },
}).createMachine({
  id: 'llmCall',
  options: { maxIterations: MOST_MICROSTEPS },
  context: ({ input }) => ({ ...input, ...begun(input), attempts: 0, ...WHOLE, reply: null, error: null }),
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
          agent: context.agent,
          ...whoIsAsked(context),
        }),
        onDone: { target: 'SUCCEEDED', actions: withOutput('takeReply') },
        onError: [
          { guard: 'toolsRefused', target: 'ATTEMPTING', reenter: true, actions: 'switchToJsonMode' },
          { guard: 'anotherModelLeft', target: 'FALLING_OVER', actions: 'takeError' },
          { guard: 'contextTooLong', target: 'ATTEMPTING', reenter: true, actions: 'shortenContext' },
          { guard: 'replyMalformed', target: 'SUCCEEDED', actions: 'takeMalformedText' },
          { guard: 'timedOutWithAttemptsLeft', target: 'BACKING_OFF', actions: 'takeError' },
          { guard: 'attemptsLeft', target: 'BACKING_OFF', actions: 'takeError' },
          { target: 'FAILED', actions: 'takeError' },
        ],
      },
    },
    FALLING_OVER: { always: 'ATTEMPTING' },
    BACKING_OFF: { after: { pause: 'ATTEMPTING' } },
    SUCCEEDED: { type: 'final' },
    FAILED: { type: 'final' },
  },
  output: ({ context }) => {
    const { toolCalling, attempts, shortened, leftOut, reply, list } = context;
    const less = leftOut === 0 ? { shortened } : { shortened, leftOut };
    if (reply !== null) return { kind: 'model.replied', reply, toolCalling, attempts, ...less, list };
    const error = context.error ?? { code: 'model-error', message: 'the model call ended without a reply' };
    return { kind: 'model.failed', error, toolCalling, attempts, shortened };
  },
});

const WHOLE = { shortened: false, leftOut: 0 } as const;

function lessOf({ earlier = 0, settings, ...sent }: LlmCallContext): Less | null {
  return withLess(sent, earlier, settings);
}

/** Which model a turn begins with, where there are several, and how that one is asked. */
function begun({ list = null, messages, toolCalling }: LlmCallInput) {
  if (list === null) return { list, failures: [] };
  const first = turnBegun(list, messages);
  return { list: first, failures: [], toolCalling: askedModel(first)?.toolCalling ?? toolCalling };
}

/** The model of this attempt. The first of a list is asked by no name, as a single one is. */
function whoIsAsked({ list, failures, model }: LlmCallContext) {
  if (list === null) return { model };
  const { at } = list;
  const { name = '' } = askedModel(list) ?? {};
  return { model: at === 0 ? '' : name, listed: { at, name, again: (failures[at] ?? null) !== null } };
}

/** What a failure changes: of several models another one is asked, in its own way of calling tools. */
function failed(context: LlmCallContext, error: LeafError): Partial<LlmCallContext> {
  const after = turnAfter(context, error);
  if (after === null) return { error };
  const { failures, list } = after;
  const attempts = isResting(context, error) ? context.attempts - 1 : context.attempts;
  if (list === null) return { error, failures, attempts };
  return { error, failures, attempts, list, toolCalling: askedModel(list)?.toolCalling ?? context.toolCalling };
}

function malformedReply({ list }: LlmCallContext, error: LeafError): ModelReply {
  const { details } = detailsOf(error);
  const text = isJsonObject(details) && typeof details.text === 'string' ? details.text : '';
  const model = list === null ? undefined : askedModel(list)?.name;
  return { content: text, finishReason: 'malformed-tool-call', ...(model === undefined ? {} : { model }) };
}

/** What one model turn is asked. */
export interface LlmCallInput {
  readonly system: { readonly [mode in ToolCalling]: Message };
  readonly messages: readonly Message[];
  /** How many of the messages are from before the run; absent: none. */
  readonly earlier?: number;
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
  /** The models that are asked one after the other instead, where there are several. */
  readonly list?: ModelList | null;
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
function heldTo({ toolCalling, responseSchema = null, settings, tools, list }: LlmCallInput): Partial<ModelRequest> {
  if (toolCalling === 'native') {
    const takesBoth = list == null || tools.length === 0 || askedModel(list)?.takesSchemaWithTools === true;
    const schema = takesBoth ? (responseSchema?.native ?? null) : null;
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

/** The request of one attempt: the system prompt first, then the current conversation. */
export function composeRequest(input: LlmCallInput): ModelRequest {
  const { settings, toolCalling, tools, list = null } = input;
  const native = toolCalling === 'native' && tools.length > 0;
  // Of another model than the agent's own it is not known whether it takes images.
  const takesImages =
    settings.images === 'sent' && (list === null ? input.model === '' : askedModel(list)?.takesImages === true);
  const shown = takesImages ? input.messages : withoutImages(input.messages);
  const messages = list !== null && toolCalling === 'json' ? toJsonMode(shown) : shown;
  return {
    messages: messages.toSpliced(0, 0, input.system[toolCalling]),
    toolCalling,
    ...(native ? { tools, parallelToolCalls: settings.parallelToolCalls } : {}),
    ...heldTo(input),
    stream: settings.streaming,
    ...(settings.temperature === null ? {} : { temperature: settings.temperature }),
    ...(settings.maxTokens === null ? {} : { maxTokens: settings.maxTokens }),
  };
}

type Machine = typeof machine;
/** The machine's type by a name, so that the types of what invokes it can be read. */
export interface LlmCallMachine extends Machine {}

export const llmCallMachine: LlmCallMachine = shortLived(machine);
