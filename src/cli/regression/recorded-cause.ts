import { digest } from '../../json/digest.ts';
import { lineNumber, type Recording } from '../../journal/format/recording.ts';
import type { RecordLine, StartRecord } from '../../journal/format/record.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { isErrorResult } from '../../tools/result.ts';

/** The first failure in a recorded run that a test can reproduce. */
export interface RecordedCause {
  /** `failed`: the call came to nothing; `useless`: what it gave made the model call again and again. */
  readonly kind: 'failed' | 'useless';
  readonly tool: string;
  readonly args: JsonObject;
  /** What the tool gave, or why it gave nothing. */
  readonly outcome: Json;
  readonly effects: StartRecord['effects'];
  /** All that had happened before the call began. */
  readonly past: Recording;
  /** The number of the record with which the call began. */
  readonly line: number;
}

/** Finds the first call of a tool that failed, or that a run repeated until it was stopped; null where there is neither. */
export function causeIn(recording: Recording): RecordedCause | null {
  const { lines } = recording;
  const starts = new Map(lines.flatMap((line, index) => (line.t === 'start' ? [[line.id, { line, index }]] : [])));
  const callOf = (line: RecordLine) => {
    const begun = line.t === 'outcome' ? starts.get(line.id) : undefined;
    return begun?.line.name === 'callTool' || begun?.line.name === 'checkArgs' ? begun : undefined;
  };
  for (const line of lines) {
    const begun = callOf(line);
    if (begun === undefined || line.t !== 'outcome' || !failed(line)) continue;
    return causeAt(recording, begun, { kind: 'failed', outcome: line.ok ? line.value : { ...line.error } });
  }
  const end = lines.find(({ t }) => t === 'end');
  if (end?.t !== 'end' || !isJsonObject(end.output) || end.output['reason'] !== 'loop') return null;
  const calls = lines.flatMap((line) => {
    const begun = callOf(line);
    return line.t === 'outcome' && line.ok && begun?.line.name === 'callTool' ? [{ begun, outcome: line.value }] : [];
  });
  const last = calls.at(-1);
  const first = calls.find(({ begun }) => last !== undefined && isSameCall(begun.line, last.begun.line));
  return first === undefined ? null : causeAt(recording, first.begun, { kind: 'useless', outcome: first.outcome });
}

function isSameCall({ request: one }: StartRecord, { request: other }: StartRecord): boolean {
  if (!isJsonObject(one) || !isJsonObject(other) || one['tool'] !== other['tool']) return false;
  return digest(one['args'] ?? null) === digest(other['args'] ?? null);
}

function failed(line: Extract<RecordLine, { t: 'outcome' }>): boolean {
  if (!line.ok) return true;
  return isErrorResult(line.value) || (isJsonObject(line.value) && line.value['ok'] === false);
}

function causeAt(
  recording: Recording,
  { line, index }: { readonly line: StartRecord; readonly index: number },
  { kind, outcome }: Pick<RecordedCause, 'kind' | 'outcome'>,
): RecordedCause | null {
  const { request, effects } = line;
  if (!isJsonObject(request) || typeof request['tool'] !== 'string') return null;
  const before = recording.lines.findLastIndex((one, at) => at < index && ENTRIES.has(one.t));
  return {
    kind,
    tool: request['tool'],
    args: isJsonObject(request['args']) ? request['args'] : {},
    outcome,
    effects,
    past: { head: recording.head, lines: recording.lines.slice(0, before + 1) },
    line: lineNumber(recording, index),
  };
}

/** The records of the events that a machine received; the effects that they caused were started after them. */
const ENTRIES: ReadonlySet<string> = new Set(['outcome', 'timer', 'event']);
