import type { Message, ModelReply, ProviderState } from '../../actors/model.ts';
import { isList } from '../../json/depth.ts';
import { defined, isJsonObject, type Building, type Json, type JsonObject } from '../../json/json.ts';
import type { Endpoint } from '../endpoint/endpoint.ts';

/**
 * Owns: what a Chat Completions server gets back of what it sent besides text and calls.
 *
 * I1 It goes back only with tool calls, unchanged, and only to the model that sent it.
 * I2 Reasoning goes back only to models that are known to need it, or if the option says so; what is signed always.
 */

/** The fields in which servers set reasoning apart, the one that counts first. */
const REASONING = ['reasoning_content', 'reasoning', 'reasoning_details'];

/** Models that reason between their tool calls, and lose the thread, or refuse the request, without what they thought. */
const NEED_REASONING = [
  /deepseek(?!.*(?:r1|distill))/i,
  /kimi-?k(?:2.*think|2\.[5-9]|[3-9])/i,
  /glm-?(?:4\.[5-9]|[5-9])/i,
  /minimax-?m[2-9]/i,
  /qwen-?3(?!\d)|qwq/i,
  /gpt-oss/i,
];

/** Hosts that refuse a history in which reasoning is missing: there an empty one replaces what is not known. */
const REFUSE_WITHOUT = /^api\.(?:deepseek\.com|moonshot\.(?:ai|cn)|kimi\.com)$/;

/** What replaces it. */
export const NO_REASONING = { reasoning_content: '' };

/** How a model's state is sent. */
export interface StateSending {
  /** The model's id: what belongs to another is left out. */
  readonly id: string;
  readonly reasoning: boolean;
  /** What is without reasoning gets an empty one. */
  readonly fills: boolean;
  /** Calls without a signature get the one that stands for none. */
  readonly signs: boolean;
  /** The messages go in strict order, and none without a text. */
  readonly isStrict?: boolean;
}

/** What is sent back to a model. `option` is the caller's word; undefined: what is known of the model decides. */
export function stateSending(endpoint: Endpoint, name: string, id: string, option: boolean | undefined): StateSending {
  const { host } = new URL(endpoint.baseURL);
  // OpenRouter passes it on to those that need it, and leaves it out for the others.
  const needed = host === 'openrouter.ai' || NEED_REASONING.some((known) => known.test(name));
  const reasoning = option ?? needed;
  const signs = host.endsWith('googleapis.com') && !/gemini-[12]|gemma/.test(name);
  return { id, reasoning, fills: reasoning && REFUSE_WITHOUT.test(host) && needed, signs };
}

/** The reply with the state that is to be sent back; without any where there is none. */
export function withOwnState(reply: ModelReply, { id, reasoning }: StateSending): ModelReply {
  if (reply.providerState === undefined) return reply;
  const { providerState, ...rest } = reply;
  if (!isJsonObject(providerState.data)) return rest;
  const { message: _message, ...always } = providerState.data;
  const data = reasoning ? providerState.data : always;
  return Object.keys(data).length === 0 ? rest : { ...rest, providerState: { model: id, data } };
}

/** What a message and each of its calls get of the state that they came with. */
export function wireState(
  { providerState, toolCalls = [] }: Message,
  sending: StateSending,
): { readonly message: JsonObject; readonly calls: readonly JsonObject[] } {
  const own = dataFor(providerState, sending.id);
  const { message, calls, blocks } = own;
  const fields = isJsonObject(message) && sending.reasoning ? message : {};
  const extras = isList(calls) && calls.length === toolCalls.length ? calls : [];
  const filled = sending.fills && !REASONING.some((name) => Object.hasOwn(fields, name));
  return {
    message: {
      ...fields,
      ...(filled ? NO_REASONING : {}),
      ...(blocks === undefined ? {} : { thinking_blocks: blocks }),
    },
    calls: toolCalls.map((_, index) => {
      const extra = extras[index] ?? (sending.signs && index === 0 ? UNSIGNED : undefined);
      return isJsonObject(extra) ? extra : {};
    }),
  };
}

/** Gemini 3 refuses calls of others, which it has not signed; Google has this word for them. */
const UNSIGNED = { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } };

function dataFor(state: ProviderState | undefined, id: string): JsonObject {
  return state?.model === id && isJsonObject(state.data) ? state.data : {};
}

/** Collects what a server sends beside text and calls in one reply. */
export function createStateCollector() {
  const fields = new Map<string, Json>();
  const extras: (JsonObject | null)[] = [];
  let blocks: readonly Json[] = [];
  return {
    /** Takes a message or a piece of one. */
    add(message: JsonObject): void {
      const signed = message['thinking_blocks'];
      if (isList(signed)) blocks = joined(blocks, signed);
      for (const name of REASONING) {
        const value = message[name];
        const before = fields.get(name);
        if (typeof value === 'string' && value !== '')
          fields.set(name, typeof before === 'string' ? before + value : value);
        else if (isList(value)) fields.set(name, joined(isList(before) ? before : [], value));
      }
    },
    /** Takes an entry of `tool_calls`, whole or a piece, of the call at this position. */
    addCall(entry: unknown, index: number): void {
      if (index < 0) return;
      while (extras.length <= index) extras.push(null);
      const extra = isJsonObject(entry) ? entry['extra_content'] : undefined;
      if (isJsonObject(extra)) extras[index] = { extra_content: extra };
    },
    /** Undefined when there was nothing. `content`: the text that came, which may hold thoughts. */
    data(content: string): JsonObject | undefined {
      if (fields.size === 0 && content.includes('</think>')) fields.set('content', content);
      const data: JsonObject = defined({
        message: fields.size === 0 ? undefined : Object.fromEntries(fields),
        calls: extras.every((extra) => extra === null) ? undefined : extras,
        blocks: blocks.length === 0 ? undefined : blocks,
      });
      return Object.keys(data).length === 0 ? undefined : data;
    },
  };
}

/** The pieces of a streamed list: details with the same index and type are one, and so is a block until it is signed (LiteLLM). */
function joined(before: readonly Json[], more: readonly Json[]): readonly Json[] {
  const list = [...before];
  for (const piece of more) {
    const last = list.at(-1);
    const continues =
      isJsonObject(piece) &&
      isJsonObject(last) &&
      piece['type'] === last['type'] &&
      (piece['type'] === 'thinking'
        ? !isSigned(last)
        : typeof piece['index'] === 'number' &&
          piece['index'] === last['index'] &&
          (piece['id'] ?? last['id']) === (last['id'] ?? piece['id']));
    if (continues) list[list.length - 1] = grown(last, piece);
    else list.push(piece);
  }
  return list;
}

const isSigned = ({ signature }: JsonObject): boolean => (signature ?? '') !== '';

const GROWING: readonly string[] = ['text', 'summary', 'data', 'thinking'];

function grown(before: JsonObject, piece: JsonObject): JsonObject {
  const after: Building = { ...before };
  for (const [name, value] of Object.entries(piece)) {
    const known = before[name];
    // Some say the whole again with the signature.
    if (name === 'thinking' && value === known && isSigned(piece)) continue;
    if (GROWING.includes(name) && typeof known === 'string' && typeof value === 'string') after[name] = known + value;
    else if (value !== null) after[name] = value;
  }
  return after;
}
