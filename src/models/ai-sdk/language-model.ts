import { isJsonObject, type JsonObject } from '../../json/json.ts';

/**
 * A language model of the AI SDK, as its provider packages make them: specification `v3` (AI SDK 6) or `v4` (AI SDK 7).
 * Described by its form, so that none of the SDK's packages is needed.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: AiSdkCall): PromiseLike<object>;
  doStream(options: AiSdkCall): PromiseLike<{ readonly stream: AiSdkStream }>;
}

/** What Signalbox uses of the stream of a reply. */
export interface AiSdkStream {
  getReader(): {
    read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>;
    cancel(reason?: unknown): PromiseLike<unknown>;
  };
}

type Reasoning = 'provider-default' | 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** Settings of the AI SDK that go into every call as they are. */
export interface AiSdkSettings {
  readonly seed?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly stopSequences?: string[] | undefined;
  /** How much a model reasons, where the specification has it (`v4`). */
  readonly reasoning?: Reasoning | undefined;
  readonly headers?: Record<string, string | undefined> | undefined;
  /** By provider: `{ anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } } }`. */
  readonly providerOptions?: object | undefined;
}

/** What one call is given. */
export interface AiSdkCall extends AiSdkSettings {
  readonly prompt: readonly object[];
  readonly tools?: readonly object[];
  readonly toolChoice?: object;
  readonly responseFormat?: object;
  readonly temperature?: number;
  readonly maxOutputTokens?: number;
  readonly abortSignal?: AbortSignal;
}

/**
 * A piece of an assistant's turn that its provider needs back unchanged. A `call` is the tool call at that position;
 * `options` are what the provider gave as its metadata.
 */
export type KeptPart = (
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'call' }
  | { readonly type: 'custom'; readonly kind: string }
) & { readonly options?: JsonObject };

/** The pieces in what a message keeps for its model; none where it keeps something else. */
export function keptParts(data: unknown): readonly KeptPart[] {
  const parts = isJsonObject(data) ? data['parts'] : undefined;
  return Array.isArray(parts) ? parts.flatMap(keptPart) : [];
}

function keptPart(part: unknown): readonly KeptPart[] {
  if (!isJsonObject(part)) return [];
  const { type, text, kind, options } = part;
  const more = isJsonObject(options) ? { options } : {};
  if ((type === 'text' || type === 'reasoning') && typeof text === 'string') return [{ type, text, ...more }];
  if (type === 'custom' && typeof kind === 'string') return [{ type, kind, ...more }];
  return type === 'call' ? [{ type, ...more }] : [];
}
