import type { Message } from '../../../actors/model.ts';
import { type Json, type JsonObject, isJsonObject, memberOf, parsedText } from '../../../json/json.ts';
import type { ShownOutput } from '../../../machines/agent/typed-output.ts';
import { issuesOf } from '../../../parsing/schema/fit.ts';
import {
  type Happening,
  type Story,
  begins,
  isOwn,
  isOwnMove,
  isOwnTurn,
  ownerOf,
  textAt,
  wasHandedOver,
} from '../walk/story.ts';
import { type Law, type Situation, news } from './law.ts';
import { MAX_STEERS } from '../../../machines/contract/mail.ts';

/** What must follow from an answer that has a schema, and from a limit before it. */
export const delivery: Law = {
  name: 'delivery',
  says: 'An answer that fits is delivered once its check and the calls beside it have succeeded, problems reach the model, and the last turn is for the answer alone.',
  check: (situation) => {
    const { shown } = situation;
    if (shown === null) return null;
    for (const { one, before } of news(situation)) {
      const wrong = started(one, before, shown) ?? settled(one, before, situation);
      if (wrong !== null) return wrong;
    }
    return endedWrongly(situation);
  },
};

/** What may not begin after what has happened. */
function started(one: Happening, before: Story, shown: ShownOutput): string | null {
  if (one.kind !== 'started' || !isOwn(ownerOf(one.effect))) return null;
  const { name, request } = one.effect;
  if (name === 'checkOutput' && shown.spec.checkMs === null) return 'code is asked about an answer, and there is none';
  const turn = before.findLastIndex(isTurn);
  const isKept = before.slice(turn + 1).some((other) => isLastTurn(other));
  if (name === 'callTool') return isKept ? 'a tool runs in the turn that is kept for the answer' : null;
  if (name !== 'callLlm' || turn !== before.findLastIndex((other) => isOwnMove(other))) return null;
  // The prompt that code makes comes between an answer's check and the next request.
  const last = before.findLast(
    (other) => other.kind === 'settled' && isOwn(ownerOf(other.effect)) && other.effect.name !== 'composePrompt',
  );
  if (last?.kind !== 'settled' || !last.out.ok) return null;
  if (last.effect.name === 'checkOutput') {
    const told = problemOf(last.out.value);
    // A message meanwhile sets the answer aside: the next request is about that message.
    const asked = before.findLastIndex((other) => other.kind === 'started' && other.effect.id === last.effect.id);
    const isAside = before.slice(asked).some(isSteer);
    return told === null || isAside || JSON.stringify(request).includes(told)
      ? null
      : 'the model is not told what the check found';
  }
  return before.some(isSteer) ? null : forgotten(before, shown);
}

/** An answer that was held until the calls beside it had succeeded, and was then asked for again. */
function forgotten(before: Story, shown: ShownOutput): string | null {
  const asked = before.findLastIndex(isOwnTurn);
  const reply = before[asked];
  if (reply?.kind !== 'settled' || !reply.out.ok) return null;
  const { answer, others } = given(reply.out.value, shown);
  if (answer === null || !answer.fits || others === 0) return null;
  const outcomes = before
    .slice(asked)
    .flatMap((one) => (isOwnMove(one, 'toolCall') ? [memberOf(one.output, 'kind')] : []));
  const succeeded = outcomes.filter((kind) => kind === 'tool.succeeded').length;
  return succeeded === others ? 'an answer was held, and forgotten when the calls beside it had succeeded' : null;
}

/** What must follow at once from a reply, and from the check's result. */
function settled(one: Happening, before: Story, { shown, output, story }: Situation): string | null {
  if (one.kind !== 'settled' || !one.out.ok || !isOwn(ownerOf(one.effect)) || shown === null) return null;
  // A word to the run may set its answer aside.
  if (story.findLast((other) => other.kind === 'settled') !== one || story.some(isSteer)) return null;
  const isDelivered = output?.output !== undefined;
  if (one.effect.name === 'checkOutput') {
    const isAccepted = isJsonObject(one.out.value) && one.out.value.ok === true;
    if (isAccepted === isDelivered) return null;
    return isAccepted
      ? 'the check accepted an answer, and it was not delivered'
      : 'an answer that the check rejected was delivered';
  }
  if (!isOwnTurn(one)) return null;
  const { answer, others } = given(one.out.value, shown);
  if (answer === null || !answer.fits || (others > 0 && !before.some((other) => isLastTurn(other)))) return null;
  if (WITHHELD.has(textAt(one.out.value, 'finishReason'))) return null;
  if (shown.spec.checkMs === null) return isDelivered ? null : 'an answer that fits was not delivered';
  const isAsked = story.some((other) => begins(other, 'checkOutput'));
  return isAsked ? null : 'an answer was not shown to the code that checks it';
}

/** The members by which an envelope of the JSON mode is known. */
const ENVELOPE = ['tool', 'plan', 'answer'];

const WITHHELD: ReadonlySet<string> = new Set(['refusal', 'content_filter', 'content-filter', 'length']);

/** An ending for which it was too early, or before which a turn was announced that never came. */
function endedWrongly({ output, settings, story }: Situation): string | null {
  if (output === null || settings === null) return null;
  const corrections = story.filter(
    (one) => isOwnMove(one) && one.from === 'PLANNING.DELIVERING.CORRECTING' && one.to.startsWith('PLANNING'),
  ).length;
  if (output.error?.code === 'output-invalid' && output.reason === 'output-invalid' && corrections < 2)
    return `the answer was given up after ${corrections} corrections`;
  if (wasHandedOver(story)) return null;
  const isAnnounced = output.messages.some(
    ({ content }) => typeof content === 'string' && content.startsWith(LAST_TURN),
  );
  // The time of the run may be over before it, or a verdict ends the run.
  const mayLack = output.status !== 'stopped' || output.reason === 'timeout' || output.reason === 'tool-error';
  if (!mayLack && isAnnounced && !story.some((one) => isLastTurn(one)))
    return 'a last turn was announced, and did not come';
  if (output.reason !== 'max-steps' && output.reason !== 'budget') return null;
  const couldAsk = output.reason === 'max-steps' ? settings.maxSteps > 1 : output.stepsTaken < settings.maxSteps;
  return couldAsk && output.stepsTaken > 0 && !story.some((one) => isLastTurn(one))
    ? `the run ended as ${output.reason} without a turn for the answer`
    : null;
}

const LAST_TURN = 'This is your last turn';

/** A request of the turn that is kept for the answer. */
function isLastTurn(one: Happening): boolean {
  if (!begins(one, 'callLlm') || !isOwn(ownerOf(one.effect))) return false;
  const { request } = one.effect;
  const messages = isJsonObject(request) && Array.isArray(request.messages) ? request.messages : [];
  return messages.some((message: Json) => textAt(message, 'content').startsWith(LAST_TURN));
}

/** What a reply gives: an answer that is whole, and so many calls beside it. Plans and what has to be repaired are left out. */
function given(
  reply: Json,
  { tools, spec }: ShownOutput,
): { readonly answer: { readonly fits: boolean } | null; readonly others: number } {
  const calls = isJsonObject(reply) && Array.isArray(reply.toolCalls) ? reply.toolCalls.filter(isJsonObject) : [];
  const tool = (call: JsonObject) => tools.find((one) => one.tool.name === call.name);
  const isPlan = calls.some(({ name }) => name === 'make_plan');
  const [first] = calls.filter((call) => tool(call) !== undefined);
  const others = calls.filter((call) => tool(call) === undefined).length;
  if (isPlan) return { answer: null, others };
  const schema = first === undefined ? undefined : tool(first)?.tool.inputSchema;
  if (first !== undefined && schema !== undefined)
    return { answer: { fits: issuesOf(first.arguments ?? null, schema).length === 0 }, others };
  if (calls.length > 0) return { answer: null, others };
  const value = parsedText(textAt(reply, 'content'));
  // What the JSON mode reads as its envelope is not an answer, even where the schema takes it.
  if (isJsonObject(value) && ENVELOPE.some((key) => Object.hasOwn(value, key))) return { answer: null, others: 0 };
  return { answer: value === undefined ? null : { fits: issuesOf(value, spec.schema).length === 0 }, others: 0 };
}

function problemOf(checked: Json): string | null {
  if (!isJsonObject(checked) || checked.ok !== false || !Array.isArray(checked.issues)) return null;
  return textAt(checked.issues[0] ?? null, 'message');
}

function isSteer(one: Happening): boolean {
  return one.kind === 'told' && one.event.type === 'message.steered';
}

function isTurn(one: Happening): boolean {
  return isOwnMove(one) && one.to === 'PLANNING.ASKING';
}

/** The delivery of messages that are sent to a run. A path distinguishes them by their texts. */
export const messages: Law = {
  name: 'messages',
  says: 'A message that a run took is delivered once or returned; one that was queued is passed on; no more than maxSteers are taken.',
  check: ({ story, output, settings }) => {
    if (output === null || settings === null) return null;
    const { steered, queued, withdrawn } = sent(story);
    if (steered.size > (settings.maxSteers ?? MAX_STEERS)) return `${steered.size} messages were taken`;
    const said = (refusedIn(story) ?? output.messages)
      .filter(({ role }) => role === 'user')
      .map(({ content }) => content);
    for (const [id, text] of [...steered, ...queued]) {
      const deliveries = said.filter((one) => one === text).length;
      const returns = (output.undelivered ?? []).filter((one) => one.id === id).length;
      const mostly = `message ${id} was delivered ${deliveries} times and returned ${returns} times`;
      if (withdrawn.has(id) ? returns > 0 : deliveries + returns !== 1) return mostly;
      if (queued.has(id) && deliveries > 0) return mostly;
    }
    return null;
  },
};

/** What was sent with the last request, if that failed: a part of it may be left out afterwards, so that it is not sent again. */
function refusedIn(story: Story): readonly Message[] | null {
  const last = story.findLast((one) => begins(one, 'callLlm') && isOwn(ownerOf(one.effect)));
  const end = story.findLast(isOwnTurn);
  if (last?.kind !== 'started' || end?.effect.id !== last.effect.id || end.out.ok) return null;
  return Object(last.effect.request).messages;
}

/** The messages that the run received, each once, by their ids. */
function sent(story: Situation['story']) {
  const steered = new Map<string, string>();
  const queued = new Map<string, string>();
  const withdrawn = new Set<string>();
  for (const one of story) {
    if (one.kind !== 'told' || one.to !== null || !isJsonObject(one.event)) continue;
    const { type, id, text } = one.event;
    if (typeof id !== 'string') continue;
    if (type === 'message.withdrawn') withdrawn.add(id);
    if (typeof text !== 'string' || steered.has(id) || queued.has(id)) continue;
    if (type === 'message.steered') steered.set(id, text);
    if (type === 'message.queued') queued.set(id, text);
  }
  return { steered, queued, withdrawn };
}
