import { closeSync, fdatasyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Message } from '../../actors/model.ts';
import { ifThere, makeFolder, textIn } from '../../security/folders.ts';
import { createHistories, damagedHistory, messageLine } from '../format/histories.ts';
import type { HistoryLines, HistoryPart } from '../format/histories.ts';
import { RecordingError } from '../format/journal-error.ts';
import type { RunRecord } from '../format/record.ts';

/** The folder with the starting histories of runs, beside the files of the runs. */
const FOLDER = 'histories';

/** The starting histories of the runs in one folder: `histories/<id>.jsonl`, a message a line, each with a checksum. */
export interface HistoryFiles {
  /** Stores the new part of a run's starting history, and returns the head to store. */
  store(head: RunRecord): object;
  /** Removes a history that no run begins with any more. */
  remove(id: string): void;
}

/** `synced`: what is stored survives a crash of the machine. */
export function historyFiles(dir: string, { synced }: { readonly synced: boolean }): HistoryFiles {
  const histories = createHistories();
  /** The lengths of our files: one that another process has removed or written to is no longer ours. */
  const lengths = new Map<string, number>();
  const forget = (id: string): void => {
    histories.forget(id);
    lengths.delete(id);
  };
  const add = ({ $history: id, to }: HistoryPart, added: readonly Message[]): boolean => {
    const path = historyPath(dir, id);
    const length = lengths.get(id);
    if (length !== undefined && statSync(path, { throwIfNoEntry: false })?.size !== length) return false;
    const first = to - added.length;
    const text = added.map((message, index) => `${messageLine(message, first + index)}\n`).join('');
    if (length === undefined) makeFolder(dirname(path));
    const file = openSync(path, length === undefined ? 'wx' : 'a', 0o600);
    try {
      writeSync(file, text);
      if (synced) fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
    lengths.set(id, (length ?? 0) + Buffer.byteLength(text));
    return true;
  };
  const store = (head: RunRecord): object => {
    const placed = histories.place(head.runId, head.history);
    if (placed === null) return head;
    const { part, added } = placed;
    try {
      if (add(part, added)) return { ...head, history: part };
    } catch (error) {
      forget(part.$history);
      throw error;
    }
    forget(part.$history);
    return store(head);
  };
  return {
    store,
    remove: (id) => {
      forget(id);
      rmSync(historyPath(dir, id), { force: true });
    },
  };
}

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,140}$/;

function historyPath(dir: string, id: string): string {
  if (!ID.test(id)) throw new RecordingError(1, `names a starting history that can be no file: ${JSON.stringify(id)}.`);
  return join(dir, FOLDER, `${id}.jsonl`);
}

/** The histories in a folder of runs, for readers of a file in it. */
export function historiesIn(dir: string): HistoryLines {
  return ({ $history: id, from, to }) => linesOf(historyPath(dir, id), id).slice(from, to);
}

function linesOf(path: string, id: string): readonly string[] {
  const text = ifThere(() => textIn(path));
  if (text === null) throw damagedHistory(id, 'the file is missing. It belongs to the recording: copy it as well');
  return text.split('\n').slice(0, -1);
}
