import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { ifThere, makeFolder, textIn } from '../../security/folders.ts';
import type { KeptRequest, RequestTable } from '../run/run-requests.ts';

const NAME = /^(.+)~([0-9a-f-]{36})\.(ask|taken|answer|new)$/;

/** A folder that was changed so recently may change again within the same tick of the file system's clock. */
const TICK_MS = 100;

/** What a dead process has left of a request is removed after this time. */
const LEFT_MS = 3_600_000;

/** A process waits a second for its request to be taken: behind one that is much older, no one stands any more. */
const STALE_MS = 60_000;

/**
 * Requests as files in a folder: `<runId>~<id>.ask` until one is taken, `.taken` while it is answered, and `.answer`.
 * Taking one renames it, so that only one process does.
 */
export function requestFiles(folder: string): RequestTable {
  const pathOf = ({ runId, id }: KeptRequest, kind: 'ask' | 'taken' | 'answer' | 'new'): string =>
    join(folder, `${encodeURIComponent(runId.toWellFormed())}~${id}.${kind}`);
  const write = (kept: KeptRequest, kind: 'ask' | 'answer', json: JsonObject): void => {
    writeFileSync(pathOf(kept, 'new'), JSON.stringify(json), { mode: 0o600 });
    renameSync(pathOf(kept, 'new'), pathOf(kept, kind));
  };
  let lookedAt = 0;
  let changedAt = 0;
  return {
    put: (kept, request) => {
      makeFolder(folder);
      write(kept, 'ask', request);
    },
    waiting: () => {
      const changed = statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
      if (changed === undefined || (changed === changedAt && lookedAt - changed > TICK_MS)) return [];
      changedAt = changed;
      lookedAt = Date.now();
      return readdirSync(folder).flatMap((name) => {
        const [, runId = '', id = '', kind] = NAME.exec(name) ?? [];
        const at = kind === undefined ? undefined : statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs;
        if (at === undefined) return [];
        const age = Date.now() - at;
        if (age > (kind === 'ask' ? STALE_MS : LEFT_MS)) rmSync(join(folder, name), { force: true, recursive: true });
        else if (kind === 'ask') return requestOf(runId, id);
        return [];
      });
    },
    take: (kept) => {
      if (ifThere(() => renameSync(pathOf(kept, 'ask'), pathOf(kept, 'taken'))) === null) return null;
      return readJson(pathOf(kept, 'taken'));
    },
    answer: (kept, answer) => {
      // It is not read if the asking process has gone.
      if (statSync(pathOf(kept, 'taken'), { throwIfNoEntry: false }) !== undefined) write(kept, 'answer', answer);
    },
    answerTo: (kept) => readJson(pathOf(kept, 'answer')),
    remove: (kept) => {
      for (const kind of ['ask', 'taken', 'answer'] as const) rmSync(pathOf(kept, kind), { force: true });
    },
  };
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
