import type { Followed } from '../../journal/run/follow-run.ts';
import type { GroupBatch } from './follow-groups.ts';
import { type FeedOptions, type LiveText, type RunFed, type RunRefused, idled, runFeed } from './run-feed.ts';
import { SSE_PING, sseResponse } from './sse.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import type { OpenApproval } from './open-approvals.ts';

/** What one client of a run is sent, in its protocol. */
export interface RunClient {
  /** The text for groups that have come. */
  batch(batch: GroupBatch): string;
  /** The model's text so far that the client does not have yet. */
  said(latest: LiveText): string;
  /** The end for now: the run waits for people only. */
  ended(): string;
  /** The end: the run cannot go on. */
  refused(why: RunRefused): string;
  /** The run is over, and all of it was sent. */
  readonly isOver: boolean;
}

/** How long a run must have waited for people before a stream is ended for now: code that answers at once comes before. */
const WAITING_MS = 60;

/** Which run a client is sent. */
export interface ClientRun extends Pick<FeedOptions, 'signal' | 'resumed'> {
  readonly journal: Followed;
  readonly runId: string;
}

/** A run as the texts for one client. They end with the run, and for now where that waits for people only. */
export async function* clientTexts(
  client: RunClient,
  { journal, runId, signal, ...how }: ClientRun,
): AsyncGenerator<string> {
  const left = new AbortController();
  const feed = runFeed(journal, runId, { ...how, signal: AbortSignal.any([signal, left.signal]) });
  let isWaiting = false;
  let latest: LiveText | null = null;
  let next = feed.next();
  try {
    for (;;) {
      const fed: IteratorResult<RunFed, unknown> | 'waited' = await (isWaiting
        ? Promise.race([next, new Promise<'waited'>((resolve) => setTimeout(() => resolve('waited'), WAITING_MS))])
        : next);
      if (fed === 'waited') {
        yield client.ended();
        return;
      }
      if (fed.done === true && signal.aborted) return;
      // An end without a word would be taken for that of the run.
      if (fed.done === true) throw new Error(`Run ${runId} could not be read to its end.`);
      if (fed.value.kind === 'refused') {
        yield client.refused(fed.value.refused);
        return;
      }
      isWaiting = fed.value.kind === 'batch' ? fed.value.batch.run.isWaiting : isWaiting;
      if (fed.value.kind === 'text') latest = fed.value.text;
      const text = fed.value.kind === 'batch' ? client.batch(fed.value.batch) : '';
      yield fed.value.kind === 'idle' ? SSE_PING : text + (latest === null ? '' : client.said(latest));
      if (client.isOver) return;
      next = feed.next();
    }
  } finally {
    // What it waits for may never come.
    left.abort();
    next.catch(() => undefined);
    void feed.return(undefined);
  }
}

/**
 * The answer to a message, which may stand in line for minutes. Proxies wait one for an answer to begin, so it is a stream before
 * that, which goes on as the answer's own. `refused` is the text for one that is a refusal, given the body of that.
 */
export async function answeredSoon(
  answer: Promise<Response>,
  headers: Readonly<Record<string, string>>,
  refused: (body: string) => string,
): Promise<Response> {
  const first = await idled(answer);
  return first === 'idle' ? sseResponse(textsOf(answer, refused), { headers, onGone: () => undefined }) : first;
}

async function* textsOf(answer: Promise<Response>, refused: (body: string) => string): AsyncGenerator<string> {
  let response: Response | 'idle' = 'idle';
  try {
    for (; response === 'idle'; response = await idled(answer)) yield SSE_PING;
  } finally {
    // A client that has left reads nothing of it.
    if (response === 'idle') void answer.then(({ body }) => body?.cancel()).catch(() => undefined);
  }
  if (response.ok) for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) yield text;
  else yield refused(await response.text());
}

/** What a user interface may show of where a run is: never its context, its prompts, or a secret. */
export interface RunView {
  /** The state of the machine as a dotted path, such as `DIRECT_EXECUTION`. */
  readonly state: string;
  readonly step: number;
  readonly limit: number;
  /** The calls of this step: how many have begun or wait, and how many of them are over. */
  readonly calls: { readonly total: number; readonly done: number };
  /** The tools that run now, the root agent's. */
  readonly running: readonly string[];
  readonly pending: readonly { readonly id: string; readonly tool: string; readonly reason: string }[];
}

/** Follows where a run is. */
export class RunViewer {
  #step = 0;
  #limit = 0;
  readonly #running = new Map<string, string>();
  readonly #known = new Set<string>();
  readonly #done = new Set<string>();

  take(event: RunEvent): void {
    if (event.child !== undefined) return;
    if (event.type === 'step.started') {
      this.#step = event.step;
      this.#limit = event.limit;
      for (const kept of [this.#running, this.#known, this.#done]) kept.clear();
    }
    if (event.type === 'tool.started' || event.type === 'approval.requested') this.#known.add(event.callId);
    if (event.type === 'tool.started') this.#running.set(event.callId, event.tool);
    if (event.type !== 'tool.finished' && event.type !== 'tool.denied') return;
    this.#running.delete(event.callId);
    this.#known.add(event.callId);
    this.#done.add(event.callId);
  }

  view(path: string, pending: readonly OpenApproval[]): RunView {
    return {
      state: path,
      step: this.#step,
      limit: this.#limit,
      calls: { total: this.#known.size, done: this.#done.size },
      running: [...this.#running.values()],
      pending: pending.map(({ id, tool, reason }) => ({ id, tool, reason })),
    };
  }
}
