/**
 * Owns: what processes ask of a run that another one drives, on both sides. Does not own: how a request gets there (the
 * journal's).
 *
 * I1 A request that was answered has taken effect, or never will.
 * I2 Where the process that drives the run dies before it answers, the one that asked does it itself; a message keeps its id.
 */
import { JournalError } from '../../journal/format/journal-error.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';
import type { Delivery } from '../options/run-options.ts';
import type { AnyRun } from '../run/run.ts';

/** What can be asked of a run. */
export type RunRequest =
  | { readonly do: 'approve'; readonly callId: string; readonly always: boolean; readonly args: JsonObject | null }
  | { readonly do: 'reject'; readonly callId: string; readonly reason: string }
  | { readonly do: 'steer'; readonly id: string; readonly text: string; readonly interrupt: boolean }
  | { readonly do: 'queue'; readonly id: string; readonly text: string }
  | { readonly do: 'cancel'; readonly reason: string };

/** How long a process that drives a run may take to look for requests, and how long it is asked again. */
const TAKEN_MS = 1000;
const PATIENCE_MS = 5000;

/** A message may be delivered much later: until then whoever asks is answered that it is not yet. */
const LATER_MS = 1000;

/**
 * Does something with a run that nobody drives, or asks the process that does. `alone` is what to do where nobody does: it
 * rejects with a `JournalError` (`run-locked`) otherwise.
 */
export async function askRun<T extends boolean | Delivery>(
  store: JournalStore,
  runId: string,
  request: RunRequest,
  alone: () => Promise<T>,
): Promise<T> {
  let until = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one try after the other
      return await alone();
    } catch (error) {
      if (!(error instanceof JournalError) || error.code !== 'run-locked') throw error;
      if (store.requests === undefined || Date.now() > until) throw error;
    }
    // oxlint-disable-next-line no-await-in-loop -- see above
    const answer = await store.requests.ask(runId, { ...request }, TAKEN_MS);
    if (answer?.later === true) until = Date.now() + PATIENCE_MS;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it answers what was asked, see `answered`
    else if (answer?.value !== undefined) return answer.value as T;
  }
}

/** Answers what other processes ask of a run, until the function that it returns is called. */
export function serveRequests(store: JournalStore | undefined, run: AnyRun): () => void {
  const deliveries = new Map<string, Promise<Delivery>>();
  return store?.requests?.serve(run.runId, (json) => answered(run, json, deliveries)) ?? (() => undefined);
}

async function answered(
  run: AnyRun,
  request: JsonObject,
  deliveries: Map<string, Promise<Delivery>>,
): Promise<JsonObject> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- another process of this version wrote it, see `askRun`
  const asked = request as RunRequest;
  try {
    switch (asked.do) {
      case 'approve':
        return { value: await run.approve(asked.callId, { always: asked.always, ...argsOf(asked.args) }) };
      case 'reject':
        return { value: await run.reject(asked.callId, asked.reason) };
      case 'cancel':
        return { value: await run.cancel(asked.reason) };
      case 'steer':
      case 'queue': {
        const { id, text } = asked;
        const delivery =
          deliveries.get(id) ??
          (asked.do === 'steer' ? run.steer(text, { id, interrupt: asked.interrupt }) : run.queue(text, { id }));
        deliveries.set(id, delivery);
        return await soon(delivery);
      }
    }
  } catch {
    // A journal that cannot write has ended the run here: whoever asks finds it so.
    return {};
  }
}

async function soon(delivery: Promise<Delivery>): Promise<JsonObject> {
  const later = Promise.withResolvers<null>();
  const timer = setTimeout(() => later.resolve(null), LATER_MS);
  const known = await Promise.race([delivery, later.promise]);
  clearTimeout(timer);
  if (known === null) return { later: true };
  const json = toJson(known);
  return json.ok && isJsonObject(json.value) ? { value: json.value } : {};
}

function argsOf(args: JsonObject | null): { readonly args?: JsonObject } {
  return args === null ? {} : { args };
}
