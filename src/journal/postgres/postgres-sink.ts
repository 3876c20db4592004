/**
 * Owns: how one run is written: the numbers of its lines, and the token with which its writer is known. A write that fails
 * gives the run back.
 */
import { lineWriter, type LineWriter } from '../format/blobs.ts';
import { withSum } from '../format/checksums.ts';
import type { Histories, StoredPart } from '../format/histories.ts';
import type { RecordLine, RunRecord } from '../format/record.ts';
import { runTally, type Tally } from '../format/tally.ts';
import type { Sink } from '../run/run-journal.ts';
import type { Held, PostgresLease } from './postgres-lease.ts';
import type { PostgresWriter } from './postgres-writer.ts';

/** The progress of a run that is being written. */
export interface SinkStart {
  readonly runId: string;
  readonly token: string;
  readonly tally: Tally;
  readonly write: LineWriter;
  readonly written: number;
  /** Of a run that begins: its head, and where its history goes, once the first line was written. */
  readonly head?: RunRecord;
  readonly placed?: () => StoredPart | null;
  /** The claim under which it begins. */
  readonly claim?: Held | null;
}

/** What the sinks of a store share. */
export interface SinkParts {
  readonly lease: PostgresLease;
  readonly writer: PostgresWriter;
  readonly histories: Histories;
  /** Forgets the secrets of a run that has ended. */
  readonly forget: (runId: string) => Promise<void>;
}

/** Where one run is written from here on, by the process that has put the token into its row. */
export function postgresSink(begun: SinkStart, { lease, writer, histories, forget }: SinkParts): Sink {
  const { runId, head, placed, claim = null } = begun;
  let { token, tally, write } = begun;
  /** Other tokens that its row may still have: a replacement of which it is not known whether it was done. */
  const before: string[] = [];
  const held = () => [token, ...before].map((one) => ({ name: runId, token: one, begins: head !== undefined }));
  let next = begun.written + 1;
  let ended = false;
  let failed = false;
  let doubted = (): void => undefined;
  const join = (): void => lease.join(token, () => doubted());
  join();
  const close = async (): Promise<void> => {
    if (failed || !lease.leave(token)) return;
    // Nothing was written of a run that has not begun.
    const released = next > 1 ? held().map(async (one) => writer.release(one)) : [];
    await Promise.all([ended ? forget(runId) : null, ...released]);
  };
  const append = async (records: readonly RecordLine[], replaces?: string): Promise<void> => {
    const lines = records.flatMap((record) => write(record).trimEnd().split('\n'));
    for (const record of records) tally.add(record);
    const from = next;
    const tallied = tally.read();
    const history = from === 1 && replaces === undefined ? (placed?.() ?? null) : null;
    const inline = (): string => {
      if (history !== null) histories.forget(history.part.$history);
      return withSum(JSON.stringify(head), 1);
    };
    next += lines.length;
    try {
      await writer.append({
        token,
        tallied,
        before: tallied.records - records.length,
        lines,
        from,
        history,
        inline,
        claim: from === 1 && replaces === undefined ? claim : null,
        ...(replaces === undefined ? {} : { replaces }),
      });
    } catch (error) {
      // Given back with the next sign of life, which is not waited for: where the server cannot be reached, it takes as long again.
      failed = true;
      if (history !== null) histories.forget(history.part.$history);
      for (const one of held()) lease.abandon(one);
      void lease.alive().catch(() => undefined);
      throw error;
    }
    ended ||= tallied.ended;
  };
  const replace = async (records: readonly RecordLine[]): Promise<void> => {
    const [first] = records;
    if (first?.t !== 'run') throw new TypeError('A recording begins with a run record.');
    const replaced = token;
    token = crypto.randomUUID();
    join();
    lease.leave(replaced);
    before.push(replaced);
    [tally, write, next] = [runTally(first), lineWriter(undefined, 0), 1];
    await append(records, replaced);
    before.pop();
  };
  const onDoubt: Sink['onDoubt'] = (heard) => {
    doubted = heard;
  };
  return { append: (records) => append(records), replace, onDoubt, close };
}
