import { deltaReader } from '../../../journal/format/deltas.ts';
import type { RecordLine } from '../../../journal/format/record.ts';
import type { Json } from '../../../json/json.ts';

/** One effect as it crossed the boundary: what was asked, and what came back. */
export interface RecordedExchange {
  readonly id: string;
  readonly name: string;
  /** Line of the recording on which it was started, and on which it yielded; null while it is open. */
  readonly started: number;
  readonly settled: number | null;
  readonly at: number;
  readonly durationMs: number | null;
  readonly request: Json;
  readonly outcome: { readonly ok: boolean; readonly value: Json } | null;
}

/** All effects of a recording, in order, their requests written out in full. */
export function exchangesOf(records: readonly (RecordLine | undefined)[]): readonly RecordedExchange[] {
  const head = records.find((record) => record?.t === 'run');
  const read = deltaReader({ history: head?.t === 'run' ? head.history : [] });
  const open = new Map<string, number>();
  const exchanges: RecordedExchange[] = [];
  for (const [line, record] of records.entries()) {
    if (record?.t === 'start') {
      const { id, name, at } = record;
      const request = record.ms === undefined ? read(id, record.request ?? null) : { ms: record.ms };
      open.set(id, exchanges.length);
      exchanges.push({ id, name, started: line, settled: null, at, durationMs: null, request, outcome: null });
    }
    if (record?.t === 'outcome' || record?.t === 'timer') {
      const place = open.get(record.id);
      const exchange = place === undefined ? undefined : exchanges[place];
      if (place === undefined || exchange === undefined) continue;
      const outcome =
        record.t === 'timer'
          ? { ok: true, value: null }
          : record.ok
            ? { ok: true, value: record.value }
            : { ok: false, value: { ...record.error } };
      exchanges[place] = { ...exchange, settled: line, durationMs: record.at - exchange.at, outcome };
    }
  }
  return exchanges;
}
