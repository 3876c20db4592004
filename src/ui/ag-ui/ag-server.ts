/**
 * Owns: requests of AG-UI, as streams. Does not own: their content (the fold), what they do (the chat).
 *
 * I1 A thread is a chat, and each run of AG-UI begins one of ours, continues one behind its interrupts, or shows one again.
 * I2 The same message again is the same run, unless that came to no answer.
 * I3 Answers cover all that is open, or none is written.
 */
import { type RunInput, readInput as inputOf } from '../../agent/options/input-parts.ts';
import type { RunSummary } from '../../journal/format/tally.ts';
import { digest } from '../../json/digest.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { type ServedAgent, shownUntil, takeReplies } from '../base/answer-approvals.ts';
import { Chat, type ChatOptions, type KnownBy, checkServing } from '../base/chat.ts';
import { type ClientRun, answeredSoon } from '../base/client-texts.ts';
import {
  FROM_START,
  type SsePosition,
  jsonOf,
  positionOf,
  refusal,
  sseResponse,
  unknownId,
  unrecorded,
} from '../base/sse.ts';
import type { AgEvent } from './ag-event.ts';
import { type AgInput, readAgInput, replyToInterrupt, inputInMessage } from './ag-requests.ts';
import { AG_MESSAGE, readAgMessages } from './ag-messages.ts';
import { agTexts } from './ag-texts.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import { AgUiFold, type AgNames } from './ag-ui-fold.ts';

/** How threads are served. */
export interface AgServeOptions extends ChatOptions {
  /** Also sends where the run is, as the member `signalbox` of the client's state. Default false. */
  readonly state?: boolean | undefined;
}

/** The metadata that identifies the run that a request began. */
const AG_RUN = 'agUiRun';

/**
 * Answers a request of AG-UI (`RunAgentInput`) with its stream of events. A request without messages begins no run: the
 * answer is the thread so far, and its live run.
 */
async function serveAgUi(agent: ServedAgent, request: Request, options: AgServeOptions): Promise<Response> {
  checkServing('agUi.serve', options);
  if (request.method !== 'POST') return refusal(405, 'method', 'Only POST is served.', { allow: 'POST' });
  const { json, refused } = await jsonOf(request, options.maxRequestBytes);
  if (refused !== undefined) return refused;
  const input = readAgInput(json);
  if (input === null) return refusal(400, 'bad-request', 'The body must be a RunAgentInput.');
  const chat = Chat.of(agent, input.threadId, options);
  if (chat === null) return unknownId();
  return answeredSoon(begin(agent, request, { chat, input, options }), {}, String);
}

async function begin(
  agent: ServedAgent,
  request: Request,
  { chat, input, options }: Omit<Asked, 'last'>,
): Promise<Response> {
  const last = await chat.last();
  if (input.resume.length > 0) return answered(agent, { chat, last, input, options });
  const resumed = (await chat.isLeft(last)) ? chat.resume() : null;
  const said = inputInMessage(asked(input));
  const again = await knownBy(chat, input, said).find();
  if (again !== null) {
    const how = again.runId === last?.runId ? { ...options, resumed } : options;
    return streamOf(input, how, again.runId, positionOf(request));
  }
  if (input.messages.length === 0) return shown(input, last, { ...options, resumed });
  if (await chat.isWaiting(last)) return failed(input, 'conversation-waiting', WAITING);
  if (said === null)
    return failed(
      input,
      'bad-request',
      'The last message must be from the user, with text, images or files by address or data.',
    );
  const started = await chat.run(said, named(input), knownBy(chat, input, said));
  return started.ok
    ? streamOf(input, options, started.runId, FROM_START)
    : failed(input, started.code, started.message);
}

const WAITING = 'The last run waits for a person. Answer its interrupts first.';

/** The message that is to be answered. Where assistant-ui asks for another answer behind a call, the call's result stands behind it. */
function asked({ messages }: AgInput): JsonObject | undefined {
  const last = messages.at(-1);
  return last?.role === 'tool' ? messages.findLast(({ role }) => role === 'user') : last;
}

/** The metadata of the run that a request begins. */
function named(input: AgInput): JsonObject {
  const id = asked(input)?.id;
  return { [AG_RUN]: input.runId, ...(typeof id === 'string' ? { [AG_MESSAGE]: id } : {}) };
}

/** What a request begins a run for: clients send a message again under another id of their run, or say something else by its id. */
function knownBy(chat: Chat, input: AgInput, said: RunInput | null): KnownBy {
  const id = asked(input)?.id;
  const { runId, resume } = input;
  // Beside an answer it may be the id of the run that is answered.
  const begun = async (): Promise<RunSummary | null> => (resume.length > 0 ? null : chat.last({ [AG_RUN]: runId }));
  const find = async (): Promise<RunSummary | null> => (await begun()) ?? (await answeredBefore(chat, id, said));
  if (typeof id !== 'string' || said === null) return { id: runId, find, isOf: () => false };
  const isOf = ({ metadata }: RunSummary): boolean => metadata[AG_MESSAGE] === id;
  const { task, content } = inputOf(said);
  return { id: JSON.stringify([AG_MESSAGE, id, digest([task, ...(content ?? [])])]), find, isOf };
}

/** The run that this message began before, unless it ended without an answer: clients ask again under another id of their run. */
async function answeredBefore(chat: Chat, id: unknown, said: RunInput | null): Promise<RunSummary | null> {
  const run = said === null || typeof id !== 'string' ? null : await chat.begunBy({ [AG_MESSAGE]: id });
  return said !== null && run !== null && (await chat.hasBegun(run, said)) ? run : null;
}

/** A thread for a client that has nothing of it: its messages, and its live run. */
async function shown(input: AgInput, last: RunSummary | null, options: Sending): Promise<Response> {
  const { threadId, runId } = input;
  const messages = await readAgMessages(options.journal, threadId, { owner: options.owner });
  // What belongs to the live run comes with that run.
  if (last !== null && last.state !== 'ended')
    return streamOf({ ...input, messages: messages.filter(isJsonObject) }, options, last.runId, FROM_START, true);
  return eventStream([
    { type: 'RUN_STARTED', threadId, runId },
    { type: 'MESSAGES_SNAPSHOT', messages },
    { type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'success' } },
  ]);
}

interface Asked {
  readonly chat: Chat;
  readonly last: RunSummary | null;
  readonly input: AgInput;
  readonly options: AgServeOptions;
}

async function answered(agent: ServedAgent, { chat, last, input, options }: Asked): Promise<Response> {
  const read = input.resume.map(replyToInterrupt);
  const unread = read.find((reply) => typeof reply === 'string');
  if (unread !== undefined) return failed(input, 'bad-request', unread);
  const replies = read.filter((reply) => typeof reply !== 'string');
  const { runId = '' } = last ?? {};
  const taken = await takeReplies(agent, options.journal, { runId, replies, all: true });
  if ('refused' in taken) return failed(input, taken.refused.code, taken.refused.message);
  const resumed = chat.resume();
  const message = input.messages.at(-1);
  const said = typeof message?.id === 'string' ? inputInMessage(message) : null;
  const before = said === null ? null : await chat.last({ [AG_MESSAGE]: message?.id ?? '' });
  // What is said beside the answers comes after the run; the client is shown the end of that with it.
  if (said !== null && (before === null || !(await chat.hasBegun(before, said)))) {
    const stopped = await resumed;
    if (stopped !== null) return failed(input, stopped.code, stopped.message);
    if (await chat.isWaiting(last)) return failed(input, 'conversation-waiting', WAITING);
    const started = await chat.run(said, named(input), knownBy(chat, input, said));
    return started.ok ? shown(input, await chat.last(), options) : failed(input, started.code, started.message);
  }
  const after = { line: shownUntil(taken.standing, replies), messages: null };
  return streamOf(input, { ...options, resumed }, runId, after, input.hasMadeUp);
}

/** How a run is sent. */
interface Sending extends AgServeOptions, Pick<ClientRun, 'resumed'> {}

function streamOf(
  input: AgInput,
  { journal, state = false, resumed = null }: Sending,
  runId: string,
  after: SsePosition,
  isNew = false,
): Response {
  const gone = new AbortController();
  const { threadId, messages, state: known, isOld } = input;
  const texts = agTexts({
    journal,
    runId,
    names: { threadId, runId: input.runId },
    isOld,
    after,
    posted: messages,
    isNew,
    signal: gone.signal,
    resumed,
    state: state ? known : null,
  });
  return sseResponse(texts, { onGone: () => gone.abort() });
}

/** A run of AG-UI that fails at once. */
function failed({ threadId, runId, messages, hasMadeUp }: AgInput, code: string, message: string): Response {
  return eventStream([
    { type: 'RUN_STARTED', threadId, runId },
    ...(hasMadeUp ? [{ type: 'MESSAGES_SNAPSHOT', messages } as const] : []),
    { type: 'RUN_ERROR', message, code },
  ]);
}

function eventStream(events: readonly AgEvent[]): Response {
  return new Response(unrecorded(events), {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' },
  });
}

/** Runs as AG-UI streams. */
export interface AgUi {
  /** The events of AG-UI for a run's events, of all or of those so far. */
  (events: Iterable<RunEvent>, names?: AgNames): readonly AgEvent[];
  /**
   * Answers a request of AG-UI.
   *
   * @example app.post('/api/ag-ui', (c) => agUi.serve(agent, c.req.raw, { journal, owner: c.get('user') }));
   */
  readonly serve: typeof serveAgUi;
  /** The messages of a thread so far; none if the owner has no such thread. */
  readonly messages: typeof readAgMessages;
}

/** Runs as events of AG-UI 1.0. */
export const agUi: AgUi = /* @__PURE__ */ Object.assign(
  (events: Iterable<RunEvent>, names?: AgNames) => new AgUiFold(names).feed(events),
  { serve: serveAgUi, messages: readAgMessages },
);
