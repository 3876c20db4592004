import { ModelError, type ModelReply, type ModelToken, type ProviderState, type Usage } from '../../actors/model.ts';
import { isList } from '../../json/depth.ts';
import { defined, isJsonObject, type JsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';
import type { KeptPart } from './language-model.ts';

/** The error that a stream reported in the middle of a reply. */
export class StreamFailure extends Error {}

interface OpenPart {
  readonly type: 'text' | 'reasoning';
  text: string;
  options: JsonObject | undefined;
}

interface ReadCall {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly options: JsonObject | undefined;
}

type ReadPart =
  | OpenPart
  | ReadCall
  | { readonly type: 'custom'; readonly kind: string; readonly options: JsonObject | undefined };

/** Reads the parts of a reply. Tools that the provider ran itself are left out: there is nothing to call. */
export class PartReader {
  readonly #onToken: ((token: ModelToken) => void) | undefined;
  readonly #parts: ReadPart[] = [];
  readonly #open = new Map<string, OpenPart>();
  /** The names of the calls that are under way, by their ids. */
  readonly #inputs = new Map<string, string>();
  readonly #warnings: string[] = [];
  #reasoning = '';
  #finish: JsonObject = {};

  constructor(onToken: ((token: ModelToken) => void) | undefined) {
    this.#onToken = onToken;
  }

  /** Takes a part of a stream. Throws a {@link StreamFailure} for an error in it. */
  add(part: unknown): void {
    if (!isJsonObject(part)) return;
    const type = textOf(part['type']);
    const [block = '', phase] = type.split('-', 2);
    if (block === 'text' || block === 'reasoning') this.#addToBlock(block, phase, part);
    else if (type === 'tool-input-start' || type === 'tool-input-delta') this.#showInput(type, part);
    else if (type === 'tool-call') this.#addCall(part);
    else if (type === 'custom') this.#parts.push({ type, kind: textOf(part['kind']), options: metadataOf(part) });
    else if (type === 'stream-start') this.#warnings.push(...warningsOf(part['warnings']));
    else if (type === 'finish') this.#finish = part;
    else if (type === 'error') throw new StreamFailure('The stream reported an error.', { cause: part['error'] });
  }

  /** Takes a reply that came as a whole. */
  addResult(result: object): void {
    if (!isJsonObject(result)) return;
    const { content } = result;
    for (const part of isList(content) ? content.filter(isJsonObject) : []) {
      const { type } = part;
      if (type === 'text' || type === 'reasoning') this.#grow(this.#begin(type, part), part, textOf(part['text']));
      else this.add(part);
    }
    this.#finish = result;
    this.#warnings.push(...warningsOf(result['warnings']));
  }

  /** The reply of the model of this name. Throws a `ModelError` for one that broke off or failed. */
  reply(model: string): ModelReply {
    const parts = this.#parts;
    const content = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    const toolCalls = parts.flatMap((part) => (part.type === 'call' ? [callOf(part)] : []));
    return defined({
      content,
      toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
      usage: usageOf(this.#finish['usage']),
      finishReason: finishOf(this.#finish, content),
      reasoning: this.#reasoning === '' ? undefined : this.#reasoning,
      providerState: toolCalls.length === 0 ? undefined : stateOf(parts, model),
      warnings: this.#warnings.length === 0 ? undefined : this.#warnings,
    });
  }

  #addToBlock(type: OpenPart['type'], phase: string | undefined, part: JsonObject): void {
    const name = `${type} ${textOf(part['id'])}`;
    const known = phase === 'start' ? undefined : this.#open.get(name);
    const block = known ?? this.#begin(type, part);
    this.#open.set(name, block);
    this.#grow(block, part, textOf(part['delta']));
  }

  #begin(type: OpenPart['type'], part: JsonObject): OpenPart {
    const begun: OpenPart = { type, text: '', options: metadataOf(part) };
    this.#parts.push(begun);
    return begun;
  }

  #grow(block: OpenPart, part: JsonObject, delta: string): void {
    // The last word counts: signatures come at the end.
    block.options = metadataOf(part) ?? block.options;
    if (delta === '') return;
    if (block.type === 'text') this.#onToken?.({ kind: 'text', text: delta });
    else {
      // Each summary is its own paragraph.
      const piece = block.text === '' && this.#reasoning !== '' ? `\n\n${delta}` : delta;
      this.#reasoning += piece;
      this.#onToken?.({ kind: 'reasoning', text: piece });
    }
    block.text += delta;
  }

  #showInput(type: 'tool-input-start' | 'tool-input-delta', part: JsonObject): void {
    const id = textOf(part['id']);
    if (type === 'tool-input-start' && part['providerExecuted'] !== true)
      this.#inputs.set(id, textOf(part['toolName']));
    const tool = this.#inputs.get(id);
    const text = textOf(part['delta']);
    if (tool === undefined || text === '') return;
    const callIndex = [...this.#inputs.keys()].indexOf(id);
    this.#onToken?.({ kind: 'arguments', text, callIndex, ...(tool === '' ? {} : { tool }) });
  }

  #addCall(part: JsonObject): void {
    const name = textOf(part['toolName']);
    if (part['providerExecuted'] === true || name.trim() === '') return;
    const { toolCallId, input } = part;
    const args = typeof input === 'string' ? input : JSON.stringify(input ?? {});
    this.#parts.push({ type: 'call', id: textOf(toolCallId), name, arguments: args, options: metadataOf(part) });
  }
}

function callOf({ id, name, arguments: args }: ReadCall) {
  return id === '' ? { name, arguments: args } : { id, name, arguments: args };
}

/** What the provider needs back with the calls; undefined if that is nothing beyond what the conversation holds. */
function stateOf(parts: readonly ReadPart[], model: string): ProviderState | undefined {
  const isPlain = parts.every(({ type, options }) => options === undefined && (type === 'text' || type === 'call'));
  if (isPlain) return undefined;
  const kept = parts.filter((part) => part.type !== 'text' || part.text !== '' || part.options !== undefined);
  const json = toJson({ parts: kept.map(keptOf) });
  return json.ok ? { model, data: json.value } : undefined;
}

function keptOf(part: ReadPart): KeptPart {
  const { type, options } = part;
  if (type === 'call') return defined({ type, options });
  return type === 'custom' ? defined({ type, kind: part.kind, options }) : defined({ type, text: part.text, options });
}

/** The finish reasons that the agent knows. A filter that stopped nothing is the model's own refusal. */
function finishOf({ finishReason, type }: JsonObject, content: string): string {
  const { unified, raw }: JsonObject = isJsonObject(finishReason) ? finishReason : {};
  // What providers begin with, and keep where a stream ends without its server's word.
  const end = type === 'finish' && unified === 'other' && typeof raw !== 'string' ? 'interrupted' : unified;
  switch (end) {
    case 'content-filter':
      return raw === undefined || raw === null || raw === 'stop' || raw === 'refusal' ? 'refusal' : 'content_filter';
    case 'tool-calls':
      return 'tool_calls';
    case 'stop':
    case 'length':
      return end;
    case 'error':
      if (raw !== 'MALFORMED_FUNCTION_CALL') throw new ModelError('server-error', 'The reply ended with an error.');
      throw new ModelError('malformed-tool-call', 'The model wrote a tool call that its server could not read.', {
        data: { text: content, message: raw },
      });
    case undefined:
    case 'interrupted':
      throw new ModelError('bad-response', 'The stream broke off before the reply was complete.');
    default:
      return typeof raw === 'string' ? raw : 'other';
  }
}

function usageOf(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const input: JsonObject = isJsonObject(usage['inputTokens']) ? usage['inputTokens'] : {};
  const output: JsonObject = isJsonObject(usage['outputTokens']) ? usage['outputTokens'] : {};
  const [sent, made] = [countOf(input['total']), countOf(output['total'])];
  if (sent === undefined && made === undefined) return undefined;
  const [inputTokens, outputTokens] = [sent ?? 0, made ?? 0];
  return defined({
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedInputTokens: countOf(input['cacheRead']),
    reasoningTokens: countOf(output['reasoning']),
  });
}

const countOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

function warningsOf(warnings: unknown): readonly string[] {
  if (!Array.isArray(warnings)) return [];
  return warnings.filter(isJsonObject).map(({ feature, setting, message, details }) => {
    const what = textOf(feature ?? setting);
    const why = textOf(message ?? details);
    if (what === '') return why;
    return `The AI SDK's provider does not support '${what}' as it was given${why === '' ? '' : `: ${why}`}.`;
  });
}

function metadataOf({ providerMetadata }: JsonObject): JsonObject | undefined {
  return isJsonObject(providerMetadata) && Object.keys(providerMetadata).length > 0 ? providerMetadata : undefined;
}

/** A text as it is, and nothing for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
