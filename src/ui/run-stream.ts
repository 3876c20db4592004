/**
 * Owns: a chat over plain server-sent events, for `runStore` and `useRun`: a GET follows it, a POST sends it a request.
 * Does not own: who may do so, which the app decides before it calls `serve`.
 *
 * I1 What is sent with an id follows from the journal alone. What has none, the text that is being written and the machine's
 *    path, is sent again to a client that comes back.
 * I2 A client that disconnects ends nothing. Only a request does.
 * I3 An answer names the run, the call and the arguments that were shown; it is refused if they differ.
 */
import { isJsonObject } from '../json/json.ts';
import { type RunEvent, addedTo } from '../machines/events/run-events.ts';
import type { RequestAnswer, SentGroup, StoreRequest } from '../store/run-link.ts';
import type { ShownEvent } from '../store/run-fold.ts';
import { type ServedAgent, takeReplies } from './base/answer-approvals.ts';
import { BUSY_MS, Chat, type ChatOptions, checkServing } from './base/chat.ts';
import { sleep } from './base/follow-groups.ts';
import { OpenApprovals, globalCallId } from './base/open-approvals.ts';
import { newChatId, runsOfChat } from './base/owned-runs.ts';
import { type FeedOptions, type LiveText, runFeed } from './base/run-feed.ts';
import { jsonAnswer, jsonOf, nothingNew, SSE_PING, readPosition, refusal, sseResponse, unknownId } from './base/sse.ts';

/** Serves chats to `runStore` and `useRun`. `newChatId` makes ids that cannot be guessed. */
export const runStream = { serve, newChatId };

/** A chat and its owner. */
interface Served extends ChatOptions {
  readonly agent: ServedAgent;
  readonly chat: Chat;
  readonly chatId: string;
}

/**
 * Answers a request for the chat in the URL's `?id=`: a GET with what happens in it, 204 if nothing is new and no run is
 * live; a POST with whether it took effect. An interrupted run continues when its chat is requested.
 *
 * @example app.all('/api/run', (context) => runStream.serve(agent, context.req.raw, { journal, owner }));
 */
async function serve(agent: ServedAgent, request: Request, options: ChatOptions): Promise<Response> {
  checkServing('runStream.serve', options);
  const chatId = new URL(request.url).searchParams.get('id') ?? '';
  const chat = Chat.of(agent, chatId, options);
  if (chat === null) return unknownId();
  const served: Served = { ...options, agent, chat, chatId };
  if (request.method === 'GET') return followed(served, request);
  if (request.method === 'POST') return said(served, request);
  return refusal(405, 'method', 'Only GET and POST are served.', { allow: 'GET, POST' });
}

async function followed(served: Served, request: Request): Promise<Response> {
  const last = await served.chat.last();
  const resumed = last !== null && (await served.chat.isLeft(last)) ? { [last.runId]: served.chat.resume() } : {};
  const gone = new AbortController();
  const after = request.headers.get('last-event-id') ?? '';
  const texts = textsOf(served, { after, resumed, signal: AbortSignal.any([gone.signal, request.signal]) });
  const first = await texts.next();
  if (first.done === true) return nothingNew();
  const all = async function* (): AsyncGenerator<string> {
    yield first.value;
    yield* texts;
  };
  const onGone = (): void => {
    gone.abort();
    void texts.return(undefined);
  };
  return sseResponse(all(), { onGone });
}

/** What comes of resuming runs, by their ids. */
interface Resumed {
  readonly [runId: string]: FeedOptions['resumed'];
}

/** How long the run of a queued message may take to begin, in milliseconds. */
const NEXT_MS = 30_000;

/** A client that has nothing of a chat receives its latest runs. */
const MOST_RUNS = 100;

/** All runs of a chat after a position, one after the other, and the live events of the last. */
async function* textsOf(
  served: Served,
  { after, resumed, signal }: { readonly after: string; readonly resumed: Resumed; readonly signal: AbortSignal },
): AsyncGenerator<string> {
  const [lastRunId = '', line = ''] = after.split(':');
  const runsOf = () => runsOfChat(served.journal, served.chatId, { owner: served.owner });
  const known = await runsOf();
  const from = lastRunId === '' ? known.length - MOST_RUNS : known.findIndex(({ runId }) => runId === lastRunId);
  let at = Math.max(0, from);
  let until = 0;
  for (let runs = known; !signal.aborted; at += 1) {
    // The runs that came meanwhile.
    if (at >= runs.length) runs = await runsOf();
    // A process that was closed in between has left it. Others are at it otherwise, and go on.
    if (runs[at] === undefined && until > 0) void served.chat.resume();
    for (let ms = 20; runs[at] === undefined && performance.now() < until && !signal.aborted;) {
      await sleep(ms);
      ms = Math.min(ms * 1.2, 500);
      runs = await runsOf();
    }
    const run = runs[at];
    if (run === undefined) return;
    const hasNext = yield* textsOfRun(served, run.runId, {
      after: run.runId === lastRunId ? (readPosition(line)?.line ?? 0) : 0,
      signal,
      resumed: resumed[run.runId] ?? null,
    });
    until = hasNext ? performance.now() + NEXT_MS : 0;
  }
}

/** What happens in a run; true if a message was queued in it, which becomes the next one. */
async function* textsOfRun(
  { journal }: Served,
  runId: string,
  { after, ...how }: Pick<FeedOptions, 'signal' | 'resumed'> & { readonly after: number },
): AsyncGenerator<string, boolean> {
  const approvals = new OpenApprovals();
  let hasNext = false;
  const shown = (event: RunEvent): readonly ShownEvent[] => {
    approvals.take(event);
    const digest = event.type === 'approval.requested' ? approvals.of(event.callId)?.digest : undefined;
    if (event.type === 'run.finished') {
      hasNext = event.result.undelivered?.some(({ kind }) => kind === 'queue') === true;
      // The text is in the events before.
      return [{ ...event, result: { ...event.result, messages: [] } }];
    }
    return [digest === undefined ? event : { ...event, digest }];
  };
  let state = '';
  let seq = 0;
  let text: LiveText | null = null;
  let told: LiveText | null = null;
  for await (const fed of runFeed(journal, runId, how)) {
    if (fed.kind === 'idle') yield SSE_PING;
    else if (fed.kind === 'refused') yield `data: ${JSON.stringify({ error: fed.refused })}\n\n`;
    else if (fed.kind === 'text') text = fed.text;
    else {
      seq = fed.batch.groups.at(-1)?.events.at(-1)?.seq ?? seq;
      const { groups, run } = fed.batch;
      const all = groups.map(({ position, events }) => ({ position, events: events.flatMap(shown) }));
      const fresh = all.filter(({ position }) => position > after);
      for (const { position, events } of fresh) yield written(`id: ${runId}:${position}\n`, { events });
      const isPast = run.position < after || (run.isOver && fresh.length === 0);
      const isTold = run.problem !== null || isPast || run.path === state;
      if (!isTold) yield `data: ${JSON.stringify({ state: (state = run.path) })}\n\n`;
    }
    // A text that is ahead of the records waits for them, so that a client shows none of another turn.
    if (text === null || text.seq > seq) continue;
    if (text.seq === seq) {
      yield written('', { events: [tokenOf(text, told)] });
      told = text;
    }
    text = null;
  }
  return hasNext;
}

function written(id: string, group: SentGroup): string {
  return `${id}data: ${JSON.stringify(group)}\n\n`;
}

/** The model's text so far, as its last token: what is new in it, where it has grown. */
function tokenOf({ seq, attempt, thought, answer }: LiveText, told: LiveText | null): ShownEvent {
  const token = { type: 'model.token', kind: 'text', text: '', index: 0, replayed: false, seq, attempt } as const;
  const grew = told?.seq === seq && told.attempt === attempt;
  const [more, moreAnswer] = grew ? [addedTo(told.thought, thought), addedTo(told.answer, answer)] : [null, null];
  if (more === null || moreAnswer === null) return { ...token, thought, answer };
  return { ...token, thought: more, answer: moreAnswer, more: true };
}

async function said(served: Served, request: Request): Promise<Response> {
  const { json, refused: tooLarge } = await jsonOf(request, served.maxRequestBytes);
  if (tooLarge !== undefined) return tooLarge;
  const asked = readRequest(json);
  if (typeof asked === 'string') return refusal(400, 'bad-request', asked);
  const answer = await answered(served, asked);
  return jsonAnswer(answer, answer.ok ? 200 : answer.error?.code === 'agent-closed' ? 503 : 409);
}

const TYPES = ['approve', 'reject', 'send', 'steer', 'stop'] as const;

/** A request as `StoreRequest` has it; a sentence that says what is wrong with it. */
function readRequest(body: unknown): StoreRequest | string {
  if (!isJsonObject(body)) return 'The body must be a JSON object.';
  const { type, runId, callId, digest, args, text } = body;
  const known = TYPES.find((one) => one === type);
  if (known === undefined) return `'type' must be one of ${TYPES.map((one) => `'${one}'`).join(', ')}.`;
  for (const [name, value] of Object.entries({ runId, callId, digest, text }))
    if (value !== undefined && typeof value !== 'string') return `'${name}' must be a text.`;
  const asText = (value: unknown): string => (typeof value === 'string' ? value : '');
  const isAnswer = known === 'approve' || known === 'reject';
  if (known !== 'send' && !runId) return `'runId' must name the run.`;
  if (isAnswer && !callId) return `'callId' must name the call.`;
  if (!isAnswer && known !== 'stop' && asText(text).trim() === '') return `'text' must be a text that is not blank.`;
  if (args !== undefined && !isJsonObject(args)) return `'args' must be a JSON object.`;
  return {
    type: known,
    runId: asText(runId),
    callId: asText(callId),
    digest: asText(digest),
    text: asText(text),
    args,
  };
}

async function answered(served: Served, asked: StoreRequest): Promise<RequestAnswer> {
  const { chat } = served;
  const { type, runId, text = '' } = asked;
  if (type === 'send') return sent(chat, text);
  const last = await chat.last();
  if (last === null || last.runId !== runId || last.state === 'ended') return refused('over', 'The run is over.');
  if (type === 'steer') {
    const wrong = await chat.steer(last.runId, text);
    return wrong === null ? { ok: true } : refused(wrong.code, wrong.message);
  }
  if (type !== 'stop') return reply(served, last.runId, asked);
  return (await chat.stop(last.runId, 'stopped by the user')) ? { ok: true } : refused('over', 'The run is over.');
}

function refused(code: string, message: string): RequestAnswer {
  return { ok: false, error: { code, message } };
}

/** While a run is live, in whatever process, its journal keeps what is to follow it: also one that begins at the same moment. */
async function sent(chat: Chat, text: string): Promise<RequestAnswer> {
  let answer: RequestAnswer = { ok: false };
  for (const ms of BUSY_MS) {
    const last = await chat.last();
    // One that its process has left is continued here: the client does not wait for its end.
    const goesOn =
      last?.state === 'running' ||
      (last !== null && (await chat.isLeft(last)) && (await chat.goesOn(last.runId)) === null);
    const wrong = goesOn ? await chat.queue(last.runId, text) : undefined;
    if (wrong === null) return { ok: true };
    if (wrong?.code === 'too-many') return refused(wrong.code, wrong.message);
    const start = await chat.run(text, {}, null);
    answer = start.ok ? { ok: true } : refused(start.code, start.message);
    if (answer.error?.code !== 'conversation-busy') break;
    await sleep(ms);
  }
  return answer;
}

async function reply({ agent, chat, journal }: Served, runId: string, asked: StoreRequest): Promise<RequestAnswer> {
  const { type, args, text = '', callId = '', digest = '' } = asked;
  const id = `${globalCallId(runId, callId)}:${digest}`;
  const replies = [{ id, approved: type === 'approve', reason: text, ...(args === undefined ? {} : { args }) }];
  const taken = await takeReplies(agent, journal, { runId, replies });
  if ('refused' in taken) return refused(taken.refused.code, taken.refused.message);
  const over = await chat.goesOn(runId);
  return over === null ? { ok: true } : refused(over.code, over.message);
}
