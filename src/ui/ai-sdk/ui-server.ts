/**
 * Owns: requests of the AI SDK's chats, as responses. Does not own: their content (the fold), what they do (the chat).
 *
 * I1 A client that disconnects cancels nothing: only an explicit stop ends a run.
 * I2 The same message posted again is the same run.
 */
import type { JsonObject } from '../../json/json.ts';
import { optionsOf } from '../../json/known-options.ts';
import type { RunSummary } from '../../journal/format/tally.ts';
import { checkOwner, ownedHead, conversationId, lastRunOf, newChatId } from '../base/owned-runs.ts';
import { type ServedAgent, shownUntil, takeReplies } from '../base/answer-approvals.ts';
import { Chat, type ChatOptions, checkServing } from '../base/chat.ts';
import { type ClientRun, answeredSoon } from '../base/client-texts.ts';
import {
  FROM_START,
  type SsePosition,
  jsonAnswer,
  jsonOf,
  nothingNew,
  positionOf,
  refusal,
  sseResponse,
  unknownId,
} from '../base/sse.ts';
import { type UiAsk, readAsk } from './ui-requests.ts';
import { MESSAGE, PARTS, readUiMessages } from './ui-messages.ts';
import { refusedTexts, uiTexts } from './ui-texts.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import { chatTransport } from './chat-transport.ts';
import type { UiChunk } from './ui-chunk.ts';
import { UiStreamFold } from './ui-stream-fold.ts';

/** How chats are served. */
export interface ServeOptions extends ChatOptions {
  /** Also sends where the run is, as transient parts `data-signalbox-state`. Default false. */
  readonly state?: boolean | undefined;
}

/** How a stream is resumed. */
export interface ResumeStreamOptions extends Pick<ServeOptions, 'owner' | 'state'> {
  /** The request: its header `Last-Event-ID` (or the query `after`) is the client's position, its query `run` the run. */
  readonly request?: Request | undefined;
}

const HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' };

/** Answers a request of a chat: a message, answers to approvals, a stop, a steer, or (`GET`) its messages or its stream. */
async function serveUiStream(agent: ServedAgent, request: Request, options: ServeOptions): Promise<Response> {
  checkServing('uiStream.serve', options);
  if (request.method === 'GET') {
    const [chatId, what] = chatIn(request);
    if (chatId === null) return unknownId();
    if (what === 'messages') return jsonAnswer(await readUiMessages(options.journal, chatId, { owner: options.owner }));
    const chat = Chat.of(agent, chatId, options);
    // Its process has died: this one continues it.
    const resumed = chat !== null && (await chat.isLeft(await chat.last())) ? chat.resume() : null;
    return streamAsked(chatId, { ...options, request, resumed });
  }
  if (request.method !== 'POST') return refusal(405, 'method', 'Only GET and POST are served.', { allow: 'GET, POST' });
  const { json, refused } = await jsonOf(request, options.maxRequestBytes);
  if (refused !== undefined) return refused;
  const ask = readAsk(json);
  if (ask.kind === 'wrong') return refusal(400, 'bad-request', ask.message);
  const chat = Chat.of(agent, ask.chat, options);
  if (chat === null) return unknownId();
  switch (ask.kind) {
    case 'run':
      return answeredSoon(begin(chat, ask, options), HEADERS, refusedTexts);
    case 'answer':
      return answer(agent, chat, ask, options);
    case 'stop':
      return stop(chat, ask.reason);
    case 'steer':
      return steer(chat, ask);
  }
}

const checkResuming = optionsOf<ResumeStreamOptions>('uiStream.resume', 'docs/ui.md', {
  owner: true,
  state: true,
  request: true,
});

/** The last run of a chat as a stream; 204 when there is none, or it is over and nothing of it is asked for. */
async function resumeUiStream(
  journal: ChatOptions['journal'],
  chatId: string,
  options: ResumeStreamOptions = {},
): Promise<Response> {
  checkResuming(options);
  checkOwner('uiStream.resume', options.owner);
  return streamAsked(chatId, { ...options, journal });
}

async function streamAsked(
  chatId: string,
  { owner, request, ...sending }: ResumeStreamOptions & Sending,
): Promise<Response> {
  const { journal } = sending;
  const after = request === undefined ? FROM_START : positionOf(request);
  const named = request === undefined ? null : new URL(request.url).searchParams.get('run');
  if (named === null) {
    const last = await lastRunOf(journal, chatId, owner);
    if (last === null || (last.state === 'ended' && after.line === 0)) return nothingNew();
    return streamOf(sending, last.runId, after);
  }
  const head = await ownedHead(journal, named, owner);
  const isOfChat = head?.metadata.conversation === conversationId(chatId, owner);
  return head === null || !isOfChat ? nothingNew() : streamOf(sending, named, after);
}

/** The chat that a path such as `/api/chat/<id>/stream` or `/api/chat/<id>/messages` names, and what is requested. */
function chatIn(request: Request): readonly [string | null, string | undefined] {
  const { pathname, searchParams } = new URL(request.url);
  const [, id = searchParams.get('id'), what] = /\/([^/]+)\/(stream|messages)\/?$/.exec(pathname) ?? [];
  try {
    return [id === null ? null : decodeURIComponent(id), what];
  } catch {
    return [null, what];
  }
}

const GIVEN = 'An answer that was given stays in the history and is not made again. Send a new message.';

async function begin(chat: Chat, ask: UiAsk & { readonly kind: 'run' }, options: ServeOptions): Promise<Response> {
  const { input, message, parts, isAgain } = ask;
  const named: JsonObject = message === '' ? {} : { [MESSAGE]: message };
  const before = message === '' ? null : await chat.last(named);
  if (before !== null && !(await chat.hasBegun(before, input)))
    return refusal(400, 'bad-request', 'A message that was sent stays in the history as it was. Send a new one.');
  const last = await chat.last();
  const isOver = before?.state === 'ended';
  if (isAgain && isOver && (before.status === 'answered' || before.runId !== last?.runId))
    return refusal(400, 'bad-request', GIVEN);
  const find = () => (isAgain ? chat.begunBy(named) : chat.last(named));
  if (before !== null && !(isAgain && isOver)) return streamOf(options, before.runId, FROM_START);
  if (await chat.isWaiting(last))
    return refusal(409, 'conversation-waiting', 'The last run waits for a person. Answer that first, or stop it.');
  const isOf = ({ metadata }: RunSummary): boolean => metadata[MESSAGE] === message;
  const known = message === '' ? null : { id: JSON.stringify(named), find, isOf };
  const started = await chat.run(input, parts === null ? named : { ...named, [PARTS]: parts }, known);
  return started.ok ? streamOf(options, started.runId, FROM_START) : refusal(409, started.code, started.message);
}

async function answer(
  agent: ServedAgent,
  chat: Chat,
  { replies, at, isStreamed }: UiAsk & { readonly kind: 'answer' },
  options: ServeOptions,
): Promise<Response> {
  const { runId = '' } = (await chat.last()) ?? {};
  const taken = await takeReplies(agent, options.journal, { runId, replies });
  if ('refused' in taken) return refusal(409, taken.refused.code, taken.refused.message);
  const resumed = chat.resume();
  if (!isStreamed) return jsonAnswer({ runId });
  const line = at?.runId === runId ? at.position : shownUntil(taken.standing, replies);
  return streamOf({ ...options, resumed }, runId, { line, messages: null });
}

async function stop(chat: Chat, reason: string): Promise<Response> {
  const last = await chat.last();
  if (last === null || last.state === 'ended') return jsonAnswer({ stopped: false });
  return jsonAnswer({ stopped: await chat.stop(last.runId, reason) });
}

async function steer(chat: Chat, { text, id }: UiAsk & { readonly kind: 'steer' }): Promise<Response> {
  const last = await chat.last();
  if (last === null || last.state === 'ended') return refusal(409, 'over', 'No run is live that could accept this.');
  const refused = await chat.steer(last.runId, text, id);
  if (refused !== null) return refusal(409, refused.code, refused.message);
  return jsonAnswer({ runId: last.runId }, 202);
}

/** How a run is sent. */
interface Sending extends Pick<ServeOptions, 'journal' | 'state'>, Pick<ClientRun, 'resumed'> {}

function streamOf({ journal, state = false, resumed = null }: Sending, runId: string, after: SsePosition): Response {
  const gone = new AbortController();
  const texts = uiTexts({ journal, runId, after, signal: gone.signal, state, resumed });
  return sseResponse(texts, { headers: HEADERS, onGone: () => gone.abort() });
}

/** The AI SDK's UI message stream of runs. */
export interface UiStream {
  /** The chunks of a run's events, of all or of those so far. Nondeterministic parts, such as tokens, are ignored. */
  (events: Iterable<RunEvent>): readonly UiChunk[];
  /**
   * Answers a request of `useChat`: a message, answers to approvals, a stop, a steer, and (`GET`) resuming the stream.
   *
   * @example app.all('/api/chat/*', (c) => uiStream.serve(agent, c.req.raw, { journal, owner: c.get('user') }));
   */
  readonly serve: typeof serveUiStream;
  /** The last run of a chat as a stream; 204 when nothing is live. */
  readonly resume: typeof resumeUiStream;
  /**
   * The messages of a chat so far, for `useChat({ messages })`; none if the owner has no such chat.
   *
   * @example const messages = await uiStream.messages<UIMessage>(journal, chatId, { owner });
   */
  readonly messages: typeof readUiMessages;
  /** A transport for `useChat`, for the browser. */
  readonly transport: typeof chatTransport;
  /** A new chat id that cannot be guessed. Chats that are served without an owner need one. */
  readonly newChatId: typeof newChatId;
}

/** Runs as streams for `useChat` of the AI SDK. */
export const uiStream: UiStream = /* @__PURE__ */ Object.assign(
  (events: Iterable<RunEvent>) => new UiStreamFold().feed(events),
  { serve: serveUiStream, resume: resumeUiStream, messages: readUiMessages, transport: chatTransport, newChatId },
);
