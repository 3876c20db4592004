import type { Act, ActReply, Frame, FramePage, SessionInfo, StepDetail, SessionEnding } from '../frames/protocol.ts';
import type { RecordLine, RunRecord } from '../../journal/format/record.ts';
import { type Json, isJsonObject } from '../../json/json.ts';

/** One run, recording or actor system that the page can show. */
export interface Session {
  readonly id: string;
  info(): SessionInfo;
  /**
   * The lines of its recording from after the one with this number on, as server-sent events, as they come, until the
   * caller stops; the id of each event is the number of its last line. Of a machine without one: its frames.
   */
  follow(from: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void>;
  /** Reads the records one after the other, null when there are no more yet; left out where nothing is recorded. */
  records?(): () => RecordLine | null;
  /** The lines so far, one after the other. */
  lines?(): AsyncGenerator<Uint8Array, void>;
  /** The recording as JSON lines; null where nothing is recorded. */
  recording(): string | null;
  /** What is kept of a machine without a recording; left out for all others. */
  readonly kept?: KeptFrames;
  act(act: Act): Promise<ActReply>;
  close(): void;
}

/** Frames of a machine that was watched, as far as they are kept. */
export interface KeptFrames {
  page(from: number, limit: number): FramePage;
  /** Null: there is no such step. */
  detail(n: number): StepDetail | null;
  /** Everything that a saved page shows of it: its frames, and the details of their steps in order. */
  all(): { readonly frames: readonly Frame[]; readonly details: readonly StepDetail[] };
}

/** A session of a run or a recording as the page lists it. */
export function sessionInfo(
  head: RunRecord,
  ending: SessionEnding,
  more: Pick<SessionInfo, 'id' | 'kind' | 'problem' | 'can' | 'waiting'>,
): SessionInfo {
  return { ...more, title: head.input, agent: head.agent, at: head.at, ...ending, parent: parentOf(head) };
}

/** How a recording ended, by its last line. */
export function recordedEnding(last: RecordLine | undefined): SessionEnding {
  return last?.t === 'end' ? endingOf(last.output) : { status: 'interrupted', reason: null };
}

/** How many calls of a recording wait for a person: those that were asked about and not answered, while it has no end. */
export function openApprovals(lines: readonly RecordLine[]): number {
  if (lines.at(-1)?.t === 'end') return 0;
  const open = new Set<string>();
  for (const line of lines) {
    if (line.t === 'start' && line.name === 'askApproval') open.add(line.id);
    if (line.t === 'outcome') open.delete(line.id);
    // A person's answer from outside goes to the call of its actor.
    if (line.t === 'event' && line.event.type.startsWith('approval.'))
      for (const id of open) if (line.to !== undefined && id.startsWith(`${line.to}/`)) open.delete(id);
  }
  return open.size;
}

const STATUSES = ['answered', 'stopped', 'failed', 'cancelled'] as const;

function endingOf(output: Json): SessionEnding {
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
