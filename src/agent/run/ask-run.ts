/**
 * Owns: what is asked of a run by its id, whether it is live here, in another process or nowhere. Does not own: how a request
 * gets to another process (the journal's).
 *
 * I1 A request that was answered has taken effect, or never will.
 * I2 If a run is released or its process dies before it answers, the asking process does the work; a message keeps its id.
 */
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

/** How long a place is looked for, for a message that came too late for its run. */
const SENDING_MS = 60_000;

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
function isUnheard(what: Delivery): boolean {
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
  if (!json.ok || !isJsonObject(json.value)) throw new TypeError(`What is asked of run ${runId} is not JSON.`);
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
  readonly keeper?: { readonly last: () => Promise<{ readonly runId: string } | null> } | null;
}

/** True for a run that could not begin because another process is at its conversation, or because a run waits there. */
export function isElsewhere({ error }: AnyResult): boolean {
  return error?.code === 'conversation-busy' || error?.code === 'conversation-waiting';
}

/**
 * Steers a run. What it does not take is the input of the next one: `begin` begins that, unless another process is at the conversation; then it
 * is queued in the run that is live there. What a run took and could not deliver stands in its result.
 */
export async function steerOrBegin(
  port: Elsewhere,
  runId: string,
  asked: MessageRequest,
  next: { readonly input: RunInput; readonly begin: () => Promise<boolean> },
): Promise<void> {
  try {
    if (!(await hasTaken(port, runId, asked))) await beginOrQueue(port, asked.id, next);
  } catch {
    // The agent is closed: there is no place for the message.
  }
}

/** Whether a run has taken a message: not where its process does not answer. */
async function hasTaken(port: Elsewhere, runId: string, message: MessageRequest): Promise<boolean> {
  try {
    return !isUnheard(await port.ask(runId, message));
  } catch (error) {
    if (error instanceof JournalError && error.code === 'run-locked') return false;
    throw error;
  }
}

async function beginOrQueue(
  port: Elsewhere,
  id: string,
  { input, begin }: Parameters<typeof steerOrBegin>[3],
): Promise<void> {
  const until = performance.now() + SENDING_MS;
  for (let pause = 50; performance.now() < until; pause = Math.min(pause * 2, 1000)) {
    if (await begin()) return;
    const last = await port.keeper?.last();
    if (last != null && (await hasTaken(port, last.runId, { do: 'queue', id, input }))) return;
    // The other process is between two runs.
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Answers what other processes ask of a run, until the function that it returns is called. */
export function serveRequests(store: JournalStore | undefined, started: StartedRun): () => void {
  const messages = new Map<string, Promise<boolean | Delivery | null>>();
  return store?.requests?.serve(started.run.runId, (json) => answered(started, json, messages)) ?? (() => undefined);
}

async function answered(
  started: StartedRun,
  request: JsonObject,
  messages: Map<string, Promise<boolean | Delivery | null>>,
): Promise<JsonObject> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- another process of this version wrote it, see `askElsewhere`
  const asked = request as RunRequest;
  const answer = 'id' in asked ? (messages.get(asked.id) ?? askLive(started, asked)) : askLive(started, asked);
  if ('id' in asked) messages.set(asked.id, answer);
  const later = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => later.resolve(undefined), LATER_MS);
  try {
    const known = await Promise.race([answer, later.promise]);
    if (known === undefined) return { later: true };
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
