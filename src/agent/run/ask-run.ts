/**
 * Owns: what is asked of a run by its id, whether it is live here, in another process or nowhere. Does not own: how a request
 * gets to another process (the journal's).
 *
 * I1 A request that was answered has taken effect, or never will.
 * I2 If a run is released or its process dies before it answers, the asking process does the work; a message keeps its id.
 * I3 What a process refuses that has lost the run is asked again: whoever has the run may have taken it.
 */
import { wrongOption } from '../../json/known-options.ts';
import type { RunInput } from '../options/input-parts.ts';
import { JournalError } from '../../journal/format/journal-error.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { ApprovalOptions, Delivery } from '../options/run-options.ts';
import type { StartedRun } from './run-plan.ts';

/** What can be asked of a run. */
export type RunRequest =
  | MessageRequest
  | { readonly do: 'approve'; readonly callId: string; readonly how: ApprovalOptions }
  | { readonly do: 'reject'; readonly callId: string; readonly reason: string }
  | { readonly do: 'cancel'; readonly reason: string };

/** A message for it, or for the run after it. */
export type MessageRequest =
  | { readonly do: 'steer'; readonly id: string; readonly text: string; readonly interrupt: boolean }
  | { readonly do: 'queue'; readonly id: string; readonly input: RunInput; readonly metadata?: JsonObject | undefined };

/** The outcome of a request: for a message its delivery, for anything else whether it took effect. */
export type RunAnswer<T extends RunRequest> = T extends { readonly do: 'steer' | 'queue' } ? Delivery : boolean;

/** How long a process that drives a run may take to look for requests, and how long it is asked again. */
const TAKEN_MS = 1000;
const PATIENCE_MS = 5000;

/** How long a place is looked for, for a message that came too late for its run, and how much of that one look costs at most. */
const SENDING_MS = 60_000;
const LOOK_MS = 20_000;

/** A message may be delivered much later: until then the asking process receives "not yet". */
const LATER_MS = 1000;

/** Asks a run that is live here. Null: it is being released at this moment, and did not receive the request. */
export async function askLive(started: StartedRun, asked: RunRequest): Promise<boolean | Delivery | null> {
  const answer = await answerOf(started, asked);
  const isTaken = typeof answer === 'boolean' ? answer : !isUnheard(answer);
  if (isTaken || !started.isLetGo()) return answer;
  await started.run;
  return null;
}

/** True for what a message is answered that a run has not taken. */
function isUnheard(what: Delivery): what is Delivery & { readonly delivered: false } {
  return !what.delivered && (what.reason === 'over' || what.reason === 'too-many');
}

async function answerOf({ run }: StartedRun, asked: RunRequest): Promise<boolean | Delivery> {
  switch (asked.do) {
    case 'approve':
      return run.approve(asked.callId, asked.how);
    case 'reject':
      return run.reject(asked.callId, asked.reason);
    case 'cancel':
      return run.cancel(asked.reason);
    case 'steer':
      return run.steer(asked.text, { id: asked.id, interrupt: asked.interrupt });
    case 'queue':
      return run.queue(asked.input, { id: asked.id, ...(asked.metadata && { metadata: asked.metadata }) });
  }
}

/**
 * Does something with a run that is not live here: by itself, or by the process that drives it. `alone` is what to do where none
 * does: it rejects with a `JournalError` (`run-locked`) otherwise.
 */
export async function askElsewhere<T>(
  store: JournalStore,
  runId: string,
  request: RunRequest,
  alone: () => Promise<T>,
): Promise<T> {
  const json = toJson(request);
  if (!json.ok || !isJsonObject(json.value)) throw wrongOption(`What is asked of run ${runId} is not JSON.`);
  let until = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await alone();
    } catch (error) {
      if (!(error instanceof JournalError) || error.code !== 'run-locked') throw error;
      if (store.requests === undefined || performance.now() > until) throw error;
    }
    const answer = await store.requests.ask(runId, json.value, TAKEN_MS);
    if (answer?.later === true) until = performance.now() + PATIENCE_MS;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it answers what was asked, see `answered`
    else if (answer?.value !== undefined) return answer.value as T;
  }
}

/** A conversation that another process may be at. */
interface Elsewhere {
  ask(runId: string, message: MessageRequest): Promise<Delivery>;
  readonly keeper?: {
    readonly last: () => Promise<{ readonly runId: string } | null>;
    readonly idFor: (id: string) => Promise<string>;
  } | null;
}

/** What a run ends with that could not begin: another process has its conversation by now, or has begun it. */
const ELSEWHERE: ReadonlySet<unknown> = new Set(['run-exists', 'run-locked']);

/** True for a run that could not begin because of others. */
export function isElsewhere({ error }: AnyResult): boolean {
  return ELSEWHERE.has(error?.code);
}

/** What a run ends with if its process was silent for so long that another may have taken it, and its conversation. */
const TAKEN: ReadonlySet<unknown> = new Set(['run-exists', 'run-lost', 'run-locked', 'store-unreachable']);

/** True for a run that another process may have taken. */
export function wasTaken(result: AnyResult | null): boolean {
  return TAKEN.has(result?.error?.code);
}

/** A message, and the run that it was sent to. */
interface Sent {
  readonly runId: string;
  readonly message: MessageRequest;
}

/** Where a message is: `taken` by a run, with none, or it may be with one whose process has not answered. */
type MessagePlace = 'taken' | 'none' | Sent;

/** What becomes of a message that a run has not taken. */
interface NextPlace {
  readonly input: RunInput;
  readonly metadata?: JsonObject | undefined;
  /** Begins the next run: its result, or else the id of the run that is live here. */
  readonly begin: () => Promise<AnyResult | string>;
  /** The agent is closed: nothing begins any more. */
  readonly isClosed: () => boolean;
}

/**
 * Steers a run. What it does not take is the input of the next one: `next` begins that, unless a run is live in the conversation, here or in
 * another process; then it is queued in that. What a run took and could not deliver stands in its result.
 */
export async function steerOrBegin(
  port: Elsewhere,
  runId: string,
  asked: MessageRequest,
  next: NextPlace,
): Promise<void> {
  let place: MessagePlace = { runId, message: asked };
  let left = SENDING_MS;
  for (let pause = 50; left > 0 && !next.isClosed(); pause = Math.min(pause * 2, 1000)) {
    const from = performance.now();
    try {
      // As long as a run may have it, no other gets it.
      if (typeof place === 'object') place = await placeOf(place, port.ask(place.runId, place.message));
      if (place === 'none') place = await beginOrQueue(port, asked.id, next);
      if (place === 'taken') return;
    } catch {
      // A journal that fails now may not fail later.
    }
    // The other process is between two runs, or does not answer.
    await new Promise((resolve) => setTimeout(resolve, pause));
    // A process that was stopped has not looked meanwhile.
    left -= Math.min(performance.now() - from, LOOK_MS);
  }
}

/** Where a message is that was sent to a run: not known where its process does not answer, or the journal. */
async function placeOf(sent: Sent, answer: Promise<Delivery>): Promise<MessagePlace> {
  try {
    return isUnheard(await answer) ? 'none' : 'taken';
  } catch {
    return sent;
  }
}

async function beginOrQueue(port: Elsewhere, id: string, next: NextPlace): Promise<MessagePlace> {
  const begun = await next.begin();
  const isLive = typeof begun === 'string';
  // Whatever it has ended with: it stands in the journal, or it has not begun.
  if (!isLive && (await port.keeper?.idFor(begun.runId)) !== begun.runId) return 'taken';
  const runId = isLive ? begun : (await port.keeper?.last())?.runId;
  if (runId === undefined) return 'none';
  const message = { do: 'queue', id, input: next.input, metadata: next.metadata } as const;
  return placeOf({ runId, message }, port.ask(runId, message));
}

/** What a process answers for a run. */
interface Served {
  readonly started: StartedRun;
  /** The answers to messages, by their ids. */
  readonly messages: Map<string, Promise<boolean | Delivery | null>>;
  /** Another process may have the run by now. */
  isLost: boolean;
}

/** Answers what other processes ask of a run, until the function that it returns is called, with how the run has ended here. */
export function serveRequests(
  store: JournalStore | undefined,
  started: StartedRun,
): (result: AnyResult | null) => void {
  const served: Served = { started, messages: new Map(), isLost: false };
  const stop = store?.requests?.serve(started.run.runId, (json) => answered(served, json));
  return (result) => {
    served.isLost = wasTaken(result);
    stop?.();
  };
}

async function answered(served: Served, request: JsonObject): Promise<JsonObject> {
  const { started, messages } = served;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- another process of this version wrote it, see `askElsewhere`
  const asked = request as RunRequest;
  const answer = 'id' in asked ? (messages.get(asked.id) ?? askLive(started, asked)) : askLive(started, asked);
  if ('id' in asked) messages.set(asked.id, answer);
  const later = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => later.resolve(undefined), LATER_MS);
  try {
    const known = await Promise.race([answer, later.promise]);
    if (known === undefined) return { later: true };
    const isRefused = known !== null && known !== true && (known === false || isUnheard(known));
    // Of a run that is ending, it is known once that is written.
    if (isRefused && known !== false && known.reason === 'over') await started.run;
    if (isRefused && served.isLost) return {};
    const json = toJson(known);
    return json.ok && (json.value === true || json.value === false || isJsonObject(json.value))
      ? { value: json.value }
      : {};
  } catch {
    // A journal that cannot write has ended the run here: the asking process finds it ended.
    return {};
  } finally {
    clearTimeout(timer);
  }
}
