import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { ifThere, makeFolder, textIn } from '../../security/folders.ts';
import type { RequestAnswerer, RunRequests } from '../run/run-requests.ts';

const NAME = /^(.+)~([0-9a-f-]{36})\.(ask|taken|answer|new)$/;

/** A folder that was changed so recently may change again within the same tick of the file system's clock. */
const TICK_MS = 100;

/** What a dead process has left of a request is removed after this time. */
const LEFT_MS = 3_600_000;

/** A process waits a second for its request to be taken: behind one that is much older, no one stands any more. */
const STALE_MS = 60_000;

/** How often a process looks for requests to its runs, and for answers to its own. */
const SERVE_MS = 100;
const ASK_MS = 20;

/** How long the answer to a request may take once it was taken. */
const ANSWER_MS = 10_000;

interface KeptRequest {
  readonly runId: string;
  readonly id: string;
}

/**
 * Requests as files in a folder: `<runId>~<id>.ask` until one is taken, `.taken` while it is answered, and `.answer`.
 * Taking one renames it, so that only one process does. They are looked for by one timer for all runs of a store.
 */
export class FileRequests implements RunRequests {
  readonly #folder: string;
  readonly #served = new Map<string, RequestAnswerer>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #lookedAt = 0;
  #changedAt = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async ask(runId: string, request: JsonObject, waitMs: number): Promise<JsonObject | null> {
    const kept = { runId, id: crypto.randomUUID() };
    makeFolder(this.#folder);
    this.#write(kept, 'ask', request);
    try {
      const withdrawAt = performance.now() + waitMs;
      let until = Number.POSITIVE_INFINITY;
      for (;;) {
        const answer = readJson(this.#pathOf(kept, 'answer'));
        if (answer !== null) return answer;
        if (until === Number.POSITIVE_INFINITY && performance.now() >= withdrawAt) {
          if (this.#take(kept) !== null) return null;
          until = withdrawAt + ANSWER_MS;
        }
        if (performance.now() >= until) return null;
        await new Promise((resolve) => setTimeout(resolve, ASK_MS));
      }
    } finally {
      for (const kind of ['ask', 'taken', 'answer'] as const) rmSync(this.#pathOf(kept, kind), { force: true });
    }
  }

  serve(runId: string, answer: RequestAnswerer): () => void {
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
      for (const kept of this.#waiting()) {
        const answer = this.#served.get(kept.runId);
        // The caller tries again, and reports that there is no answer.
        if (answer !== undefined) void this.#answer(kept, answer).catch(() => undefined);
      }
    } catch {
      // A folder that cannot be read now is looked at again.
    }
  }

  async #answer(kept: KeptRequest, answer: RequestAnswerer): Promise<void> {
    const request = this.#take(kept);
    if (request === null) return;
    const answered = await answer(request);
    // It is not read if the asking process has gone.
    if (statSync(this.#pathOf(kept, 'taken'), { throwIfNoEntry: false }) !== undefined)
      this.#write(kept, 'answer', answered);
  }

  /** Requests that were not taken, where the folder has changed. */
  #waiting(): readonly KeptRequest[] {
    const changed = statSync(this.#folder, { throwIfNoEntry: false })?.mtimeMs;
    if (changed === undefined || (changed === this.#changedAt && this.#lookedAt - changed > TICK_MS)) return [];
    this.#changedAt = changed;
    this.#lookedAt = Date.now();
    return readdirSync(this.#folder).flatMap((name) => {
      const [, runId = '', id = '', kind] = NAME.exec(name) ?? [];
      const path = join(this.#folder, name);
      const at = kind === undefined ? undefined : statSync(path, { throwIfNoEntry: false })?.mtimeMs;
      if (at === undefined) return [];
      const age = Date.now() - at;
      if (age > (kind === 'ask' ? STALE_MS : LEFT_MS)) rmSync(path, { force: true, recursive: true });
      else if (kind === 'ask') return requestOf(runId, id);
      return [];
    });
  }

  /** Takes a request; null if another process has. */
  #take(kept: KeptRequest): JsonObject | null {
    const taken = this.#pathOf(kept, 'taken');
    return ifThere(() => renameSync(this.#pathOf(kept, 'ask'), taken)) === null ? null : readJson(taken);
  }

  #write(kept: KeptRequest, kind: 'ask' | 'answer', json: JsonObject): void {
    writeFileSync(this.#pathOf(kept, 'new'), JSON.stringify(json), { mode: 0o600 });
    renameSync(this.#pathOf(kept, 'new'), this.#pathOf(kept, kind));
  }

  #pathOf({ runId, id }: KeptRequest, kind: 'ask' | 'taken' | 'answer' | 'new'): string {
    return join(this.#folder, `${encodeURIComponent(runId.toWellFormed())}~${id}.${kind}`);
  }
}

function requestOf(runId: string, id: string): readonly KeptRequest[] {
  try {
    return [{ runId: decodeURIComponent(runId), id }];
  } catch {
    return [];
  }
}

function readJson(path: string): JsonObject | null {
  const text = ifThere(() => textIn(path));
  const json: unknown = text === null ? null : JSON.parse(text);
  return isJsonObject(json) ? json : null;
}
