/**
 * Owns: whether a model is asked again after a failure, when, and which of several comes next. Does not own: the turn
 * (`llm-call.ts`), or which of them rest after failures of other runs (`actors/circuits.ts`).
 *
 * I1 A failure leads to another model only where another may do better: never a request that was refused for what it is.
 * I2 A conversation that was too long goes only to a model whose context is known to be larger.
 * I3 No model is asked again in a turn before every model that may be asked was.
 */
import type { LeafError } from '../../actors/journal.ts';
import type { Message } from '../../actors/model.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { backoffMs } from '../../recovery/backoff.ts';
import type { AgentSettings, RankedModel } from '../contract/agent-setup.ts';
import { isInUserMessage } from './conversation.ts';

/** A model of a list, and what the run has learned of it. */
interface KnownModel extends RankedModel {
  /** How it has been seen to call: `native`, or the format of its text; null: it has not. */
  readonly heldTo: string | null;
}

/** The models of a run, in the order in which they are asked. */
export interface ModelList {
  readonly models: readonly KnownModel[];
  /** The one that is asked, or answered last. */
  readonly at: number;
  /** The conversation was too long for a context of so many tokens; 0: for none. */
  readonly overflow: number;
}

/** One turn of a list: what each model failed with last; null: it was not asked, or has not failed. */
export interface ListedTurn {
  readonly list: ModelList | null;
  readonly failures: readonly (LeafError | null)[];
  readonly messages: readonly Message[];
  readonly attempts: number;
  readonly settings: { readonly maxAttempts: number };
}

/** A server that asks for a longer pause than this is not waited for. */
const LONGEST_PAUSE_MS = 60_000;

/** Overflow of a context whose size is not known: no other is known to be larger. */
const UNKNOWN_SIZE = Number.MAX_SAFE_INTEGER;

/** What asking the same model again cannot cure, and another model may. */
const CURED_ELSEWHERE: ReadonlySet<string> = new Set(['quota-exhausted', 'model-not-found', 'no-model']);

/** The list of a run that begins. */
export function modelList(models: readonly RankedModel[]): ModelList {
  const known = models.map((model) => ({ ...model, heldTo: model.callsNatively ? 'native' : null }));
  return { models: known, at: 0, overflow: 0 };
}

/** The model that is asked. */
export function askedModel(list: ModelList): KnownModel | undefined {
  return list.models[list.at];
}

/** The list at the beginning of a turn: the first model that can take the conversation. */
export function turnBegun(list: ModelList, messages: readonly Message[]): ModelList {
  const first = list.models.findIndex((model) => fits(model, list, messages));
  return { ...list, at: Math.max(first, 0) };
}

/** The list with more known of the model that is asked. */
export function learned(list: ModelList, more: Partial<Pick<KnownModel, 'toolCalling' | 'heldTo'>>): ModelList {
  return { ...list, models: list.models.map((model, at) => (at === list.at ? { ...model, ...more } : model)) };
}

/** True for the outcome that a model rests and was not asked. One that is asked anyway does not rest. */
export function isResting({ list, failures }: Pick<ListedTurn, 'list' | 'failures'>, { code }: LeafError): boolean {
  return code === 'circuit-open' && list !== null && (failures[list.at] ?? null) === null;
}

/** The turn after a failure of the model that was asked: the failure, and which model comes next. */
export function turnAfter(
  turn: ListedTurn,
  error: LeafError,
): { readonly failures: ListedTurn['failures']; readonly list: ModelList | null; readonly waits: boolean } | null {
  if (turn.list === null) return null;
  const { models, at } = turn.list;
  const failures = models.map((_model, place) => (place === at ? error : (turn.failures[place] ?? null)));
  const size = models[at]?.contextSize ?? UNKNOWN_SIZE;
  const overflow = error.code === 'context-overflow' ? Math.max(turn.list.overflow, size) : turn.list.overflow;
  const list = { ...turn.list, overflow };
  const next = goesElsewhere(error) && !isSpent(turn, error) ? nextOf({ ...turn, list, failures }) : null;
  if (next === null) return { failures, list: null, waits: false };
  return { failures, list: { ...list, at: next.at }, waits: next.waits };
}

/** Every model has a chance, however few attempts there are; one that rests costs none. */
function isSpent(turn: ListedTurn, error: LeafError): boolean {
  const attempts = isResting(turn, error) ? turn.attempts - 1 : turn.attempts;
  return attempts >= Math.max(turn.settings.maxAttempts, turn.list?.models.length ?? 0);
}

/** True while the turn may continue after this failure, with another model or, after a pause, with the same one. */
export function mayTryAgain(turn: ListedTurn, error: LeafError): boolean {
  const after = turnAfter(turn, error);
  if (after !== null) return after.list !== null;
  const hopeless =
    detailsOf(error).retryable === false || pauseAsked(error) > LONGEST_PAUSE_MS || error.code === 'context-overflow';
  return turn.attempts < turn.settings.maxAttempts && !hopeless;
}

/** True for a failure after which another model may be asked. The author's own word on it counts first. */
function goesElsewhere(error: LeafError): boolean {
  const { retryable, fallback } = detailsOf(error);
  if (fallback === false || error.code === 'malformed-tool-call') return false;
  return retryable !== false || fallback === true || CURED_ELSEWHERE.has(error.code);
}

/** A model that was not asked yet, else one that rests, else, after a pause, one whose failure may pass. */
function nextOf({
  list,
  failures,
  messages,
}: Pick<ListedTurn, 'failures' | 'messages'> & { readonly list: ModelList }): {
  readonly at: number;
  readonly waits: boolean;
} | null {
  const order = list.models.map((_model, index) => (list.at + 1 + index) % list.models.length);
  const able = order.filter((at) => {
    const model = list.models[at];
    return model !== undefined && fits(model, list, messages);
  });
  const failureOf = (at: number): LeafError | null => failures[at] ?? null;
  const now = able.find((at) => failureOf(at) === null) ?? able.find((at) => failureOf(at)?.code === 'circuit-open');
  if (now !== undefined) return { at: now, waits: false };
  const again = able.filter((at) => mayPass(failureOf(at)));
  const [soonest] = again.toSorted((one, other) => pauseAsked(failureOf(one)) - pauseAsked(failureOf(other)));
  return soonest === undefined ? null : { at: soonest, waits: true };
}

function mayPass(error: LeafError | null): boolean {
  if (error === null || error.code === 'context-overflow') return false;
  return detailsOf(error).retryable !== false && pauseAsked(error) <= LONGEST_PAUSE_MS;
}

/** True for a model whose context is not known to be too small, and that takes the user's images and files. */
function fits(model: RankedModel, { overflow }: ModelList, messages: readonly Message[]): boolean {
  if (overflow > 0 && (model.contextSize ?? 0) <= overflow) return false;
  if (model.takesFiles !== true && isInUserMessage('file', messages)) return false;
  return model.takesImages || !isInUserMessage('image', messages);
}

/** What the server asks for, and at least the backoff; without a word of it, a busy server gets more time. */
export function pauseBefore({
  error: last,
  attempts: all,
  seed,
  settings,
  list,
  failures,
}: ListedTurn & {
  readonly error: LeafError | null;
  readonly seed: number;
  readonly settings: AgentSettings;
}): number {
  const { backoff, busyBackoff = backoff, totalMs } = settings;
  const error = list === null ? last : (failures[list.at] ?? null);
  const attempts = list === null ? all : Math.ceil(all / list.models.length);
  if (isPauseAsked(error)) return Math.max(pauseAsked(error), backoffMs(backoff, attempts, seed));
  if (!isBusy(error)) return backoffMs(backoff, attempts, seed);
  // A run that has little time in all keeps most of it for the attempt.
  return Math.min(backoffMs(busyBackoff, attempts, seed), (totalMs ?? Infinity) / 4);
}

function isBusy(error: LeafError | null): boolean {
  const { status } = detailsOf(error);
  if (error?.code === 'rate-limited' || error?.code === 'server-error') return true;
  return typeof status === 'number' && (status === 429 || status >= 500);
}

function isPauseAsked(error: LeafError | null): boolean {
  return typeof detailsOf(error).retryAfterMs === 'number';
}

function pauseAsked(error: LeafError | null): number {
  const { retryAfterMs } = detailsOf(error);
  return typeof retryAfterMs === 'number' ? retryAfterMs : 0;
}

/** A failure's description besides its code. */
export function detailsOf(error: LeafError | null): JsonObject {
  return error !== null && isJsonObject(error.data) ? error.data : {};
}
