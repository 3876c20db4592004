import type { JsonObject } from '../../json/json.ts';

/**
 * Requests to a run from processes that do not drive it: to approve a call, to steer, to cancel. A request and its answer are
 * JSON. They are not part of the recording: the run records what it takes of them.
 */
export interface RunRequests {
  /**
   * Asks the process that drives a run. Resolves with its answer; null if no process has taken the request within
   * `waitMs` milliseconds: it is then withdrawn and will not be taken.
   */
  ask(runId: string, request: JsonObject, waitMs: number): Promise<JsonObject | null>;
  /** Answers the requests to a run that is driven here, each once, until the function that it returns is called. */
  serve(runId: string, answer: (request: JsonObject) => Promise<JsonObject>): () => void;
}

/** A request to a run, as it is kept. */
export interface KeptRequest {
  readonly runId: string;
  readonly id: string;
}

/** Where requests are kept that are looked for again and again. */
export interface RequestTable {
  put(kept: KeptRequest, request: JsonObject): void | Promise<void>;
  /** Requests that were not taken. */
  waiting(): readonly KeptRequest[];
  /** Takes one; null if another process has. */
  take(kept: KeptRequest): JsonObject | null | Promise<JsonObject | null>;
  answer(kept: KeptRequest, answer: JsonObject): void | Promise<void>;
  answerTo(kept: KeptRequest): JsonObject | null;
  remove(kept: KeptRequest): void | Promise<void>;
}

/** How often a process looks for requests to its runs, and for answers to its own. */
const SERVE_MS = 100;
const ASK_MS = 20;

/** How long the answer to a request may take once it was taken. */
const ANSWER_MS = 10_000;

type Answer = (request: JsonObject) => Promise<JsonObject>;

/** Requests that are looked for in a table, by one timer for all runs of a store. */
export class PolledRequests implements RunRequests {
  readonly #table: RequestTable;
  readonly #served = new Map<string, Answer>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(table: RequestTable) {
    this.#table = table;
  }

  async ask(runId: string, request: JsonObject, waitMs: number): Promise<JsonObject | null> {
    const kept = { runId, id: crypto.randomUUID() };
    await this.#table.put(kept, request);
    try {
      const withdrawAt = performance.now() + waitMs;
      let until = Number.POSITIVE_INFINITY;
      for (;;) {
        const answer = this.#table.answerTo(kept);
        if (answer !== null) return answer;
        if (until === Number.POSITIVE_INFINITY && performance.now() >= withdrawAt) {
          if ((await this.#table.take(kept)) !== null) return null;
          until = withdrawAt + ANSWER_MS;
        }
        if (performance.now() >= until) return null;
        await new Promise((resolve) => setTimeout(resolve, ASK_MS));
      }
    } finally {
      await this.#table.remove(kept);
    }
  }

  serve(runId: string, answer: Answer): () => void {
    this.#served.set(runId, answer);
    this.#timer ??= setInterval(() => this.#look(), SERVE_MS);
    this.#timer.unref?.();
    return () => {
      if (this.#served.get(runId) === answer) this.#served.delete(runId);
      if (this.#served.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #look(): void {
    try {
      for (const kept of this.#table.waiting()) {
        const answer = this.#served.get(kept.runId);
        // The caller tries again, and reports that there is no answer.
        if (answer !== undefined) void this.#answer(kept, answer).catch(() => undefined);
      }
    } catch {
      // A store that cannot be read now is looked at again.
    }
  }

  async #answer(kept: KeptRequest, answer: Answer): Promise<void> {
    const request = await this.#table.take(kept);
    if (request !== null) await this.#table.answer(kept, await answer(request));
  }
}

/** Requests within one process. */
export function localRequests(): RunRequests {
  const served = new Map<string, Answer>();
  return {
    ask: async (runId, request) => (await served.get(runId)?.(request)) ?? null,
    serve: (runId, answer) => {
      served.set(runId, answer);
      return () => {
        if (served.get(runId) === answer) served.delete(runId);
      };
    },
  };
}
