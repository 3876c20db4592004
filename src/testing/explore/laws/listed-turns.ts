/**
 * Owns: what must hold of a model turn for which an agent has several models, judged by what was asked and what came of it
 * alone. Does not own: turns of a single model (`model-turns.ts`).
 */
import type { LeafError } from '../../../actors/journal.ts';
import type { Message } from '../../../actors/model.ts';
import { isJsonObject } from '../../../json/json.ts';
import { DEFAULT_SETTINGS, type RankedModel } from '../../../machines/contract/agent-setup.ts';
import { isInUserMessage, shortenOlderResults } from '../../../machines/llm-call/conversation.ts';

/** One request of a turn, and what came of it. */
export interface ModelAttempt {
  /** The name in the request; empty: the first model. */
  readonly model: string;
  readonly mode: string;
  /** The conversation that was sent. */
  readonly messages: readonly Message[];
  /** How long was waited before it, in milliseconds; null: not at all. */
  readonly pause: number | null;
  /** Null: it has replied, or is still asked. */
  readonly error: LeafError | null;
}

/** A turn of a list, with the models in the order in which they are to be asked. */
interface ListedTurn {
  readonly models: readonly RankedModel[];
  readonly asked: readonly ModelAttempt[];
  readonly maxAttempts: number;
  /** A conversation of the run was too long for one of them. */
  readonly overflowed: boolean;
  /** A model of the run has refused tools. */
  readonly refusedTools: boolean;
}

/** No model is asked again that wants a longer pause. */
export const LONGEST_PAUSE_MS = 60_000;

/** Failures of a model that another model may get past, although it cannot itself. */
const ITS_OWN: ReadonlySet<string> = new Set(['quota-exhausted', 'model-not-found', 'no-model']);

/** True where less was sent than before. */
export function isShorter(one: ModelAttempt | undefined, before: ModelAttempt | undefined): boolean {
  if (one === undefined || before === undefined) return false;
  return JSON.stringify(one.messages).length < JSON.stringify(before.messages).length;
}

/** True where the conversation that was sent has older results that can be shortened. */
export function isShortenable(one: ModelAttempt | undefined): boolean {
  return one !== undefined && shortenOlderResults(one.messages, DEFAULT_SETTINGS) !== one.messages;
}

/** True for a turn that was asked of the models of a list, and not of one that was named. */
export function isListed(models: readonly RankedModel[], asked: readonly ModelAttempt[]): boolean {
  return models.length > 1 && asked.every(({ model }) => placeOf(models, model) !== -1);
}

/** What is wrong with the latest request of a turn; null: nothing is. */
export function listedAskedWrongly(turn: ListedTurn): string | null {
  const { models, asked, maxAttempts, overflowed, refusedTools } = turn;
  const [one, before] = [asked.at(-1), asked.at(-2)];
  if (one === undefined) return null;
  const own = models[placeOf(models, one.model)];
  if (own !== undefined && own.toolCalling !== one.mode && !refusedTools)
    return `'${own.name}' was asked with ${one.mode} calls, and it takes ${own.toolCalling} ones`;
  if (before === undefined) return null;
  const earlier = asked.slice(0, -1);
  const { error } = before;
  if (error === null) return 'the model was asked again after it had replied';
  if (counted(asked) >= Math.max(maxAttempts, models.length))
    return `a model was asked after ${counted(asked)} failed attempts over all models`;
  const isSame = one.model === before.model;
  if (error.code === 'no-native-tools' && before.mode === 'native')
    return isSame && one.mode === 'json' ? null : 'a server that refuses tools was not asked without them';
  if (isRefused(error) && error.code !== 'context-overflow')
    return `another model was asked after ${error.code}, which none can cure`;
  if (error.code === 'context-overflow') {
    if (isSame) return isShorter(one, before) ? null : 'a conversation that was too long was sent again as it was';
    return isLarger(models, one.model, before.model)
      ? null
      : `a conversation that was too long was sent to '${one.model}', which is not known to take more`;
  }
  const times = earlier.filter(({ model }) => model === one.model);
  return times.length === 0
    ? notInOrder({ models, asked, overflowed })
    : repeatedWrongly(one, times, { models, asked: earlier, overflowed });
}

/** What is wrong with a turn that has failed; null: nothing is. */
export function listedEndedWrongly(turn: Omit<ListedTurn, 'refusedTools'>): string | null {
  const { models, asked, maxAttempts, overflowed } = turn;
  const last = asked.at(-1)?.error ?? null;
  if (last === null || isRefused(last) || counted(asked) >= Math.max(maxAttempts, models.length)) return null;
  // Which model takes a conversation that was too long for another is judged when it is asked.
  if (overflowed) return null;
  const left = models.find((model, at) => {
    if (!takes(model, asked)) return false;
    const own = asked.filter((one) => placeOf(models, one.model) === at);
    return own.length === 0 || mayPass(own.at(-1)?.error ?? null);
  });
  return left === undefined ? null : `the turn was given up after ${last.code}, and '${left.name}' was left to ask`;
}

type Order = Pick<ListedTurn, 'models' | 'asked' | 'overflowed'>;

function notInOrder({ models, asked, overflowed }: Order): string | null {
  const place = placeOf(models, asked.at(-1)?.model ?? '');
  const skipped = models.findIndex((_model, at) => isUnasked(models, asked, at));
  if (skipped !== -1 && skipped < place && !overflowed)
    return `'${models[place]?.name}' was asked before '${models[skipped]?.name}'`;
  return asked.at(-1)?.pause == null ? null : 'another model was asked only after a pause';
}

function repeatedWrongly(
  one: ModelAttempt,
  own: readonly ModelAttempt[],
  { models, asked, overflowed }: Order,
): string | null {
  const error = own.at(-1)?.error ?? null;
  if (!overflowed && models.some((_model, at) => isUnasked(models, asked, at)))
    return `'${one.model}' was asked again before every model was asked`;
  const rested = own.filter((other) => other.error?.code === 'circuit-open').length;
  if (error?.code === 'circuit-open' && rested === 1) return null;
  if (!mayPass(error)) return `'${one.model}' was asked again after ${error?.code}, which another try cannot cure`;
  const pause = pauseAsked(error);
  return (one.pause ?? -1) < pause ? `'${one.model}' was asked again sooner than it had asked for` : null;
}

function isUnasked(models: readonly RankedModel[], asked: readonly ModelAttempt[], at: number): boolean {
  const model = models[at];
  return model !== undefined && takes(model, asked) && !asked.some((one) => placeOf(models, one.model) === at);
}

/** Whether a model takes the images and files that the user has sent in this conversation. */
function takes({ takesImages, takesFiles }: RankedModel, asked: readonly ModelAttempt[]): boolean {
  const { messages } = asked.at(-1) ?? { messages: [] };
  return (
    (takesImages || !isInUserMessage('image', messages)) && (takesFiles === true || !isInUserMessage('file', messages))
  );
}

/** Failures that cost an attempt. A resting model costs none, unless it is asked anyway. */
function counted(asked: readonly ModelAttempt[]): number {
  const failures = asked.filter(({ error, mode, model }, index) => {
    if (error === null || (error.code === 'no-native-tools' && mode === 'native')) return false;
    return error.code !== 'context-overflow' || asked[index + 1]?.model !== model;
  });
  const resting = failures.filter(
    ({ error, model }, index) =>
      error?.code === 'circuit-open' && failures.findIndex((other) => other.model === model) === index,
  );
  return failures.length - resting.length;
}

function isRefused({ code, data }: LeafError): boolean {
  return isJsonObject(data) && data.retryable === false && !ITS_OWN.has(code);
}

function mayPass(error: LeafError | null): boolean {
  if (error === null || ITS_OWN.has(error.code) || error.code === 'context-overflow' || isRefused(error)) return false;
  return pauseAsked(error) <= LONGEST_PAUSE_MS;
}

function pauseAsked(error: LeafError | null): number {
  const asked = isJsonObject(error?.data) ? error.data.retryAfterMs : undefined;
  return typeof asked === 'number' ? asked : 0;
}

function isLarger(models: readonly RankedModel[], one: string, other: string): boolean {
  const size = models[placeOf(models, other)]?.contextSize ?? Infinity;
  return (models[placeOf(models, one)]?.contextSize ?? 0) > size;
}

function placeOf(models: readonly RankedModel[], name: string): number {
  return name === '' ? 0 : models.findIndex((model) => model.name === name);
}
