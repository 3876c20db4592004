/**
 * Owns: people's answers to waiting calls, checked against what was shown to them. Does not own: who may answer.
 *
 * I1 An answer counts for the call and the arguments that it names; where either is another by now, all of them are refused.
 * I2 All answers of one request are checked before the first is written.
 */
import type { RunInput } from '../../agent/options/input-parts.ts';
import type {
  ApprovalOptions,
  ConversationOptions,
  Delivery,
  QueueOptions,
  RunOptions,
  SteerOptions,
} from '../../agent/options/run-options.ts';
import { type JsonObject, defined } from '../../json/json.ts';
import type { Followed } from '../../journal/run/follow-run.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { DrivenRun } from '../../journal/run/driven-runs.ts';
import type { GroupStanding } from './event-groups.ts';
import { argsDigest } from './open-approvals.ts';
import { standingOf } from './owned-runs.ts';

/** What of an agent is served. Any agent fits, whatever its tools get and its answer is. */
export interface ServedAgent {
  readonly name: string;
  conversation(id: string, options?: ConversationOptions): ServedConversation;
  approve(runId: string, callId: string, options?: ApprovalOptions): Promise<boolean>;
  reject(runId: string, callId: string, reason?: string): Promise<boolean>;
  cancel(runId: string, reason?: string): Promise<boolean>;
  steer(runId: string, text: string, options?: SteerOptions): Promise<Delivery>;
  queue(runId: string, input: RunInput, options?: QueueOptions): Promise<Delivery>;
}

/** What of a conversation is served. */
interface ServedConversation {
  run(input: RunInput, options: Pick<RunOptions, 'whenBusy' | 'again' | 'context' | 'metadata' | 'park'>): ServedRun;
  resume(options?: { readonly context?: unknown; readonly park?: boolean }): Promise<unknown>;
}

/** A run that was begun for a request. */
export interface ServedRun extends DrivenRun, PromiseLike<Pick<AnyResult, 'error' | 'result'>> {}

/** A person's answer to one call. */
export interface ApprovalReply {
  /** The id under which it was asked. */
  readonly id: string;
  readonly approved: boolean;
  readonly reason?: string;
  /** Other arguments to run with; they are checked again. A question is answered with `{ answer }`. */
  readonly args?: JsonObject;
  /** Also from now on. */
  readonly always?: boolean;
}

/** The call that is asked about under this id. */
export function askedCall(id: string): string {
  return id.slice(0, id.lastIndexOf(':'));
}

/** Behind which line a client continues that was shown these questions. */
export function shownUntil({ waitedAt, position }: GroupStanding, replies: readonly ApprovalReply[]): number {
  const lines = replies.flatMap(({ id }) => waitedAt.get(id) ?? []);
  return lines.length === 0 ? position : Math.max(...lines);
}

/** Answers that are refused, and why. */
interface RefusedReplies {
  readonly code: 'approval-unknown' | 'approval-changed' | 'approval-closed' | 'approvals-missing';
  readonly message: string;
}

/**
 * Takes answers to the calls of a run, which may not exist: how it stood before, or why none is taken. `all`: none that is
 * open may be left out.
 */
export async function takeReplies(
  agent: Pick<ServedAgent, 'approve' | 'reject'>,
  journal: Followed,
  {
    runId,
    replies,
    all = false,
  }: { readonly runId: string; readonly replies: readonly ApprovalReply[]; readonly all?: boolean },
): Promise<{ readonly standing: GroupStanding } | { readonly refused: RefusedReplies }> {
  const standing = await standingOf(journal, runId);
  if (standing === null) return { refused: UNKNOWN };
  const refused = refusedReplies(standing, replies, all) ?? (await writeReplies(agent, journal, standing, replies));
  return refused === null ? { standing } : { refused };
}

const UNKNOWN = { code: 'approval-unknown', message: 'No call with this id is waiting.' } as const;

/** Checks answers without writing any: null where all of them fit. */
function refusedReplies(
  { approvals: open, answered, edited }: GroupStanding,
  replies: readonly ApprovalReply[],
  all: boolean,
): RefusedReplies | null {
  if (new Set(replies.map(({ id }) => id)).size < replies.length)
    return { code: 'approval-closed', message: 'A call is answered twice in one request.' };
  for (const { id, approved, args } of replies) {
    const end = answered.get(id);
    // Where it was approved as it was shown, its id has the digest.
    const given = edited.get(id) ?? (edited.has(id) ? null : id.slice(id.lastIndexOf(':') + 1));
    const isOther = approved && args !== undefined && given !== null && argsDigest(args) !== given;
    if (open.some((one) => one.id === id) || (end !== undefined && (end === true) === approved && !isOther)) continue;
    const why = end === true ? `it was approved before${isOther ? ', with other arguments' : ''}.` : end;
    if (why !== undefined) return { code: 'approval-closed', message: `The call no longer waits: ${why}` };
    if (open.some((one) => askedCall(one.id) === askedCall(id)))
      return { code: 'approval-changed', message: 'The call now waits with other arguments than were shown.' };
    return UNKNOWN;
  }
  const left = open.filter((one) => !replies.some(({ id }) => id === one.id));
  if (!all || left.length === 0) return null;
  return { code: 'approvals-missing', message: `Answers are missing: ${left.map(({ id }) => id).join(', ')}.` };
}

/** Writes answers that fit, one after the other: null, or why one could not be. Those given before are left out. */
async function writeReplies(
  agent: Pick<ServedAgent, 'approve' | 'reject'>,
  journal: Followed,
  { head, approvals: open }: GroupStanding,
  replies: readonly ApprovalReply[],
): Promise<RefusedReplies | null> {
  const runId = head?.runId ?? '';
  let refused: RefusedReplies | null = null;
  for (const { id, approved, reason, args, always } of replies) {
    const call = open.find((one) => one.id === id);
    if (call === undefined) continue;
    const how = defined({ args, always, reason: reason === '' ? undefined : reason });
    const taken = await (approved ? agent.approve(runId, call.callId, how) : agent.reject(runId, call.callId, reason));
    if (taken) continue;
    // The deadline of a run that nobody drives is in its records once it is resumed.
    const isOpen = (await standingOf(journal, runId))?.answered.has(id) === false;
    const why = isOpen && call.limitMs !== undefined ? 'nobody answered in time' : 'it was answered meanwhile';
    refused = { code: 'approval-closed', message: `The call no longer waits: ${why}.` };
  }
  return refused;
}
