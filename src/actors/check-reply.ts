import { isList } from '../json/depth.ts';
import { type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import { type ModelReply, type ProviderState, type ReplyStats, type Usage, ModelError } from './model.ts';

type Call = NonNullable<ModelReply['toolCalls']>[number];

/**
 * Reads what a caller's own model gave, so that the machines get a reply or a failure and nothing else. Calls without a
 * name and numbers that are not are left out. Throws a `bad-response` for what is not a reply at all.
 */
export function checkReply(reply: unknown): ModelReply {
  if (!isJsonObject(reply)) throw bad(`it is ${reply === null ? 'null' : typeof reply}`);
  const { content, finishReason, reasoning, model, warnings } = reply;
  const toolCalls = callsOf(reply.toolCalls);
  const usage = usageOf(reply.usage);
  const stats = statsOf(reply.stats);
  const providerState = stateOf(reply.providerState);
  return {
    content: textOf(content, toolCalls !== undefined),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(usage === undefined ? {} : { usage }),
    ...(typeof finishReason === 'string' ? { finishReason } : {}),
    ...(typeof reasoning === 'string' ? { reasoning } : {}),
    ...(providerState === undefined ? {} : { providerState }),
    ...(typeof model === 'string' && model !== '' ? { model } : {}),
    ...(stats === undefined ? {} : { stats }),
    ...(Array.isArray(warnings) ? { warnings: warnings.map(String) } : {}),
  };
}

function textOf(content: Json | undefined, hasCalls: boolean): string {
  if (typeof content === 'string') return content;
  if (content === null || (content === undefined && hasCalls)) return '';
  throw bad(`its content is ${content === undefined ? 'missing' : typeof content}`);
}

function callsOf(calls: Json | undefined): readonly Call[] | undefined {
  if (calls === undefined || calls === null) return undefined;
  if (!isList(calls)) throw bad('toolCalls is not a list');
  return calls.flatMap((call): readonly Call[] => {
    if (!isJsonObject(call)) throw bad('one of its toolCalls is not an object');
    const { id, name } = call;
    if (typeof name !== 'string' || name.trim() === '') return [];
    const own = typeof id === 'string' || typeof id === 'number' ? { id: String(id) } : {};
    return [{ ...own, name, ...argumentsOf(call) }];
  });
}

/** Arguments of another type go to the model as text, and fail there as what they are. */
function argumentsOf({ arguments: given }: JsonObject): Pick<Call, 'arguments'> {
  if (given === undefined || given === null) return {};
  return { arguments: typeof given === 'string' || isJsonObject(given) ? given : JSON.stringify(given) };
}

function usageOf(usage: Json | undefined): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const [inputTokens, outputTokens] = [countOf(usage.inputTokens), countOf(usage.outputTokens)];
  const totalTokens = countOf(usage.totalTokens) || inputTokens + outputTokens;
  if (totalTokens === 0) return undefined;
  return { inputTokens, outputTokens, totalTokens, ...detailsOf(usage) };
}

/** Zero is a statement, absent is none. */
function detailsOf({
  cachedInputTokens,
  reasoningTokens,
}: JsonObject): Pick<Usage, 'cachedInputTokens' | 'reasoningTokens'> {
  return {
    ...(typeof cachedInputTokens === 'number' ? { cachedInputTokens: countOf(cachedInputTokens) } : {}),
    ...(typeof reasoningTokens === 'number' ? { reasoningTokens: countOf(reasoningTokens) } : {}),
  };
}

function stateOf(state: Json | undefined): ProviderState | undefined {
  if (!isJsonObject(state) || typeof state.model !== 'string' || state.data === undefined) return undefined;
  return { model: state.model, data: state.data };
}

function statsOf(stats: Json | undefined): ReplyStats | undefined {
  if (!isJsonObject(stats)) return undefined;
  const { timeToFirstTokenMs, tokensPerSecond } = stats;
  return {
    ...(typeof timeToFirstTokenMs === 'number' ? { timeToFirstTokenMs } : {}),
    ...(typeof tokensPerSecond === 'number' ? { tokensPerSecond } : {}),
  };
}

function countOf(count: Json | undefined): number {
  return typeof count === 'number' && count > 0 ? count : 0;
}

function bad(what: string): ModelError {
  return new ModelError(
    'bad-response',
    `The model's reply cannot be read: ${what}. complete() must resolve to { content, toolCalls? }.`,
  );
}
