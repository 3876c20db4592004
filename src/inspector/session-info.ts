import type { RecordLine, RunRecord } from '../journal/record.ts';
import { type Json, isJsonObject } from '../parsing/json.ts';
import type { SessionInfo } from './protocol.ts';

/** A session of a run or a recording as the page lists it, of its first line and of its last. */
export function sessionInfo(
  head: RunRecord,
  last: RecordLine,
  more: Pick<SessionInfo, 'id' | 'kind' | 'problem' | 'can'>,
): SessionInfo {
  const unfinished = more.kind === 'run' ? 'running' : 'interrupted';
  return {
    ...more,
    title: head.input,
    agent: head.agent,
    at: head.at,
    ...(last.t === 'end' ? endingOf(last.output) : { status: unfinished, reason: null }),
    parent: parentOf(head),
  };
}

const STATUSES = ['answered', 'stopped', 'failed', 'cancelled'] as const;

function endingOf(output: Json): Pick<SessionInfo, 'status' | 'reason'> {
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
