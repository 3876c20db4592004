import type { LeafError } from '../../../actors/journal.ts';
import type { Message } from '../../../actors/model.ts';
import { shortenOlderResults } from '../../../machines/llm-call/conversation.ts';
import { isJsonObject } from '../../../json/json.ts';
import type { RankedModel } from '../../../machines/contract/agent-setup.ts';
import { type Story, begins, isOwn, isOwnMove, ownerOf, textAt } from '../walk/story.ts';
import { type Law, news } from './law.ts';
import { type ModelAttempt, isListed, listedAskedWrongly, listedEndedWrongly } from './listed-turns.ts';

/** The attempts of one model turn. */
interface Turn {
  readonly modes: readonly string[];
  /** Whether the conversation that was sent has something to shorten, a request. */
  readonly shortenable: readonly boolean[];
  readonly errors: readonly LeafError[];
  /** How long was waited, in milliseconds. */
  readonly pauses: readonly number[];
  /** The requests one by one, for turns of several models. */
  readonly asked: readonly ModelAttempt[];
  /** A conversation of the run was too long, in this turn or before. */
  readonly overflowed: boolean;
  /** A model of the run has refused tools. */
  readonly refusedTools: boolean;
}

const LONGEST_PAUSE_MS = 60_000;

/** How often the model is asked. */
export const modelTurns: Law = {
  name: 'retries',
  says: 'The model, or the next of several, is asked again while its failures may pass and attempts are left, and only then; not sooner than its server asks for.',
  check: ({ story, fresh, settings, models }) => {
    if (settings === null) return null;
    for (const { one, before } of news({ story, fresh })) {
      const upTo = [...before, one];
      const wrong =
        begins(one, 'callLlm') && isOwn(ownerOf(one.effect))
          ? askedWrongly(turnOf(upTo, ownerOf(one.effect)), settings.maxAttempts, models)
          : isOwnMove(one, 'llmCall')
            ? endedWrongly(turnOf(upTo, one.actor), one.to, settings.maxAttempts, models)
            : null;
      if (wrong !== null) return wrong;
    }
    return null;
  },
};

function askedWrongly(turn: Turn, maxAttempts: number, models: readonly RankedModel[]): string | null {
  const { modes, shortenable, errors, pauses, asked } = turn;
  if (isListed(models, asked)) return listedAskedWrongly({ ...turn, models, maxAttempts });
  if (modes.length === 1) return null;
  const before = errors.at(-1);
  if (before === undefined) return 'the model was asked again after it had replied';
  if (counted(errors, modes) >= maxAttempts) return `the model was asked again after ${maxAttempts} failed attempts`;
  // What is sent without tools, or shortened, is not the same again.
  const isOther = before.code === 'no-native-tools' || before.code === 'context-overflow';
  if (!isOther && isHopeless(before))
    return `the model was asked again after ${before.code}, which another try cannot cure`;
  if (before.code === 'no-native-tools' && modes.at(-1) !== 'json')
    return 'a server that refuses tools was asked with tools again';
  const { retryAfterMs } = isJsonObject(before.data) ? before.data : {};
  if (typeof retryAfterMs === 'number' && (pauses.at(-1) ?? 0) < retryAfterMs)
    return `the model was asked again sooner than after the ${retryAfterMs} ms that it had asked for`;
  const overflows = errors.filter(({ code }) => code === 'context-overflow').length;
  if (before.code === 'context-overflow' && shortenable.at(-2) === false)
    return 'a conversation that was too long was sent again as it was';
  return overflows > 1 ? 'a conversation that was too long was sent a third time' : null;
}

function endedWrongly(turn: Turn, to: string, maxAttempts: number, models: readonly RankedModel[]): string | null {
  const { errors, modes, shortenable, asked } = turn;
  const last = errors.at(-1);
  if (last === undefined) return null;
  const replied = errors.length < modes.length;
  if (to === 'SUCCEEDED')
    return replied || last.code === 'malformed-tool-call'
      ? null
      : `a turn that failed with ${last.code} counted as a reply`;
  if (to === 'FAILED' && last.code === 'malformed-tool-call') return 'a malformed call counted as an outage';
  if (to === 'FAILED' && isListed(models, asked)) return listedEndedWrongly({ ...turn, models, maxAttempts });
  if (to !== 'FAILED' || isHopeless(last) || counted(errors, modes) >= maxAttempts) return null;
  const repeated = errors.filter(({ code }) => code === last.code).length > 1;
  if (last.code === 'context-overflow' && (repeated || shortenable.at(-1) === false)) return null;
  return `the model was given up after ${last.code}, with attempts left`;
}

/** Failures that cost an attempt: the first refusal of tools and the first overflow do not. */
function counted(errors: readonly LeafError[], modes: readonly string[]): number {
  const free = errors.filter(
    ({ code }, index) =>
      (code === 'no-native-tools' && modes[index] === 'native') ||
      (code === 'context-overflow' && errors.findIndex((other) => other.code === code) === index),
  ).length;
  return errors.length - free;
}

function isHopeless({ data }: LeafError): boolean {
  if (!isJsonObject(data)) return false;
  return data.retryable === false || (typeof data.retryAfterMs === 'number' && data.retryAfterMs > LONGEST_PAUSE_MS);
}

function turnOf(story: Story, path: string): Turn {
  const over = story.findLastIndex((one, index) => index < story.length - 1 && isEnd(one, path));
  const own = story.slice(over + 1);
  const asked = askedIn(own, path);
  return {
    asked,
    overflowed: hasFailedWith(story, 'context-overflow'),
    refusedTools: hasFailedWith(story, 'no-native-tools'),
    modes: asked.map(({ mode }) => mode),
    shortenable: asked.map(({ shortenable }) => shortenable),
    pauses: own.flatMap((one) => (one.kind === 'fired' ? [one.effect.ms ?? 0] : [])),
    errors: own.flatMap((one) =>
      one.kind === 'settled' && isOfTurn(one.effect, path) && !one.out.ok ? [one.out.error] : [],
    ),
  };
}

function hasFailedWith(story: Story, code: string): boolean {
  return story.some((one) => one.kind === 'settled' && !one.out.ok && one.out.error.code === code);
}

function askedIn(own: Story, path: string): readonly ModelAttempt[] {
  const asked: ModelAttempt[] = [];
  let pause: number | null = null;
  for (const one of own) {
    if (one.kind === 'fired') pause = one.effect.ms ?? 0;
    if (one.kind === 'started' && isOfTurn(one.effect, path)) {
      const { request } = one.effect;
      const model = textAt(request, 'model');
      asked.push({ model, mode: modeOf(request), shortenable: isShortenable(request), pause, error: null });
      pause = null;
    }
    const last = asked.at(-1);
    if (one.kind === 'settled' && isOfTurn(one.effect, path) && !one.out.ok && last !== undefined)
      asked[asked.length - 1] = { ...last, error: one.out.error };
  }
  return asked;
}

function isEnd(one: Story[number], path: string): boolean {
  if (one.kind !== 'moved') return false;
  // An immediate message of a person voids the request: the model is asked again.
  const isVoided = one.event === 'message.steered' && one.to !== one.from && path === `${one.actor}/llmCall`;
  return isVoided || (one.actor === path && (one.to === 'SUCCEEDED' || one.to === 'FAILED'));
}

function isOfTurn(effect: Parameters<typeof ownerOf>[0], path: string): boolean {
  return effect.name === 'callLlm' && ownerOf(effect) === path;
}

function isShortenable(request: unknown): boolean {
  const messages: readonly Message[] = Reflect.get(Object(request), 'messages');
  return shortenOlderResults(messages) !== messages;
}

function modeOf(request: unknown): string {
  return typeof request === 'object' && request !== null ? String(Reflect.get(request, 'toolCalling')) : '';
}
