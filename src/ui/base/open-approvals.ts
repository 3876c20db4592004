import { digest } from '../../json/digest.ts';
import type { Json } from '../../json/json.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import type { Policy } from '../../tools/spec.ts';

/** A call that waits for a person. */
export interface OpenApproval {
  /** Names the run, the call and the arguments that are shown: an answer to other arguments does not fit. */
  readonly id: string;
  readonly callId: string;
  readonly tool: string;
  readonly args: Json;
  readonly digest: string;
  readonly reason: string;
  /** The tool's policy; absent for a question. */
  readonly policy?: Policy;
  /** How long it may wait, in milliseconds; absent where it may wait for ever. */
  readonly limitMs?: number;
  /** The child agent that asks, as in its events; absent for the root. */
  readonly child?: string;
  /** Not a call but a question of an escalation, which is answered with `{ answer }`. */
  readonly isQuestion: boolean;
}

/** The id of a call that is unique among all runs. */
export function globalCallId(runId: string, callId: string): string {
  return `${runId}:${callId}`;
}

/**
 * What becomes of an agent's question by an event, if anything does: it has no event of its own, but the agent goes on. `none`:
 * nobody answered it.
 */
export function questionEnd(event: RunEvent): 'yes' | 'no' | 'none' | null {
  if (event.type !== 'state.changed' || event.from !== 'ERROR_RECOVERY') return null;
  if (event.event === 'approval.refused') return 'no';
  return event.event === 'approval.given' || event.event === 'askApproval.done' ? 'yes' : 'none';
}

/** What is said of the end of a question. */
export const QUESTION_ENDS = {
  yes: 'The question was answered.',
  no: 'The answer was no.',
  none: 'The question was not answered.',
} as const;

/** Follows which calls of a run wait for a person. */
export class OpenApprovals {
  readonly #open = new Map<string, OpenApproval>();
  #runId = '';

  /** In the order in which they were asked. */
  get list(): readonly OpenApproval[] {
    return [...this.#open.values()];
  }

  /** The question about a call; null where there is none. */
  of(callId: string): OpenApproval | null {
    return this.#open.get(callId) ?? null;
  }

  /** The questions that are over by an event. */
  endedBy(event: RunEvent): readonly OpenApproval[] {
    return questionEnd(event) === null ? [] : this.list.filter((one) => one.isQuestion && one.child === event.child);
  }

  take(event: RunEvent): void {
    switch (event.type) {
      case 'run.started':
        this.#runId = event.runId;
        break;
      case 'approval.requested':
        this.#ask(event);
        break;
      case 'tool.started':
      case 'tool.finished':
      case 'tool.denied':
        this.#open.delete(event.callId);
        break;
      case 'state.changed':
        for (const { callId } of this.endedBy(event)) this.#open.delete(callId);
        break;
      case 'run.finished':
        this.#open.clear();
        break;
    }
  }

  #ask(event: RunEvent & { readonly type: 'approval.requested' }): void {
    const { callId, tool, args, reason, policy, limitMs, child } = event;
    const sum = digest(args).slice(0, 16);
    this.#open.set(callId, {
      id: `${globalCallId(this.#runId, callId)}:${sum}`,
      callId,
      tool,
      args,
      digest: sum,
      reason,
      ...(policy === undefined ? {} : { policy }),
      ...(limitMs === undefined ? {} : { limitMs }),
      ...(child === undefined ? {} : { child }),
      isQuestion: /q\d+$/.test(callId),
    });
  }
}

/** What the model is sent of a result, as a value: the data where that is all there is. */
export function shownResult(result: { readonly [key: string]: Json | undefined; readonly status: string }): Json {
  const { data, status, forUser: _forUser, ...rest } = result;
  const isPlain = status === 'success' && data !== undefined && Object.values(rest).every((one) => one === undefined);
  return isPlain ? data : JSON.parse(JSON.stringify(result));
}
