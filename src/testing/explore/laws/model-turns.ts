import type { LeafError } from '../../../actors/journal.ts';
import { isJsonObject } from '../../../json/json.ts';
import type { RankedModel } from '../../../machines/contract/agent-setup.ts';
import { type Story, begins, isOwn, isOwnMove, ownerOf, textAt } from '../walk/story.ts';
import { type Law, news } from './law.ts';
import {
  LONGEST_PAUSE_MS,
  type ModelAttempt,
  isListed,
  isShortenable,
  isShorter,
  listedAskedWrongly,
  listedEndedWrongly,
} from './listed-turns.ts';

/** The attempts of one model turn. */
interface Turn {
  readonly modes: readonly string[];
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

/** How often the model is asked. */
export const modelTurns: Law = {
  name: 'retries',
  says: 'The model, or the next of several, is asked again while its failures are temporary and attempts are left, and only then; not sooner than its server asks for.',
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
  const { modes, errors, pauses, asked } = turn;
  if (isListed(models, asked)) return listedAskedWrongly({ ...turn, models, maxAttempts });
  if (modes.length === 1) return null;
  const before = errors.at(-1);
  if (before === undefined) return 'the model was asked again after it had replied';
  if (counted(turn) >= maxAttempts) return `the model was asked again after ${maxAttempts} failed attempts`;
  // What is sent without tools, or shortened, is not the same again.
  const isOther = before.code === 'no-native-tools' || before.code === 'context-overflow';
  if (!isOther && isHopeless(before))
    return `the model was asked again after ${before.code}, which another try cannot cure`;
  if (before.code === 'no-native-tools' && modes.at(-1) !== 'json')
    return 'a server that refuses tools was asked with tools again';
  const { retryAfterMs } = isJsonObject(before.data) ? before.data : {};
  if (typeof retryAfterMs === 'number' && (pauses.at(-1) ?? 0) < retryAfterMs)
    return `the model was asked again sooner than after the ${retryAfterMs} ms that it had asked for`;
  return before.code === 'context-overflow' && !isShorter(asked.at(-1), asked.at(-2))
    ? 'a conversation that was too long was sent again as it was'
    : null;
}

function endedWrongly(turn: Turn, to: string, maxAttempts: number, models: readonly RankedModel[]): string | null {
  const { errors, modes, asked } = turn;
  const last = errors.at(-1);
  if (last === undefined) return null;
  const replied = errors.length < modes.length;
  if (to === 'SUCCEEDED')
    return replied || last.code === 'malformed-tool-call'
      ? null
      : `a turn that failed with ${last.code} counted as a reply`;
  if (to === 'FAILED' && last.code === 'malformed-tool-call') return 'a malformed call counted as an outage';
  if (to === 'FAILED' && isListed(models, asked)) return listedEndedWrongly({ ...turn, models, maxAttempts });
  if (to !== 'FAILED' || isHopeless(last) || counted(turn) >= maxAttempts) return null;
  const repeated = errors.filter(({ code }) => code === last.code).length > 1;
  if (last.code === 'context-overflow' && (repeated || !isShortenable(asked.at(-1)))) return null;
  return `the model was given up after ${last.code}, with attempts left`;
}

/** Failures that cost an attempt: the first refusal of tools does not, nor an overflow after which less was sent. */
function counted({ errors, modes, asked }: Turn): number {
  const free = errors.filter(
    ({ code }, index) =>
      (code === 'no-native-tools' && modes[index] === 'native') ||
      (code === 'context-overflow' && isShorter(asked[index + 1], asked[index])),
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
      const { messages } = Object(request);
      asked.push({ model, mode: textAt(request, 'toolCalling'), messages, pause, error: null });
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
