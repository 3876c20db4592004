import type { RecordLine, RunRecord } from '../../journal/format/record.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import type { SessionInfo } from '../frames/protocol.ts';

/** How a session ended, or that it did not. */
export type Ending = Pick<SessionInfo, 'status' | 'reason'>;

/** A session of a run or a recording as the page lists it. */
export function sessionInfo(
  head: RunRecord,
  ending: Ending,
  more: Pick<SessionInfo, 'id' | 'kind' | 'problem' | 'can'>,
): SessionInfo {
  return { ...more, title: head.input, agent: head.agent, at: head.at, ...ending, parent: parentOf(head) };
}

/** How a recording ended, by its last line. */
export function recordedEnding(last: RecordLine | undefined): Ending {
  return last?.t === 'end' ? endingOf(last.output) : { status: 'interrupted', reason: null };
}

const STATUSES = ['answered', 'stopped', 'failed', 'cancelled'] as const;

function endingOf(output: Json): Ending {
  if (!isJsonObject(output)) return { status: 'failed', reason: null };
  const { status, reason } = output;
  return {
    status: STATUSES.find((one) => one === status) ?? 'failed',
    reason: typeof reason === 'string' ? reason : null,
  };
}

/** The run that this one was forked from, where its first line says so. */
function parentOf(head: RunRecord): SessionInfo['parent'] {
  const parent: unknown = Reflect.get(head, 'parent');
  if (!isJsonObject(parent)) return null;
  const { runId, entry } = parent;
  return typeof runId === 'string' && typeof entry === 'number' ? { runId, entry } : null;
}
