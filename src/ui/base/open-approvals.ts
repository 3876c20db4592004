import { digest } from '../../json/digest.ts';
import { type Json, defined } from '../../json/json.ts';
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

/** By it the arguments are known that a call is shown or approved with. */
export function argsDigest(args: Json): string {
  return digest(args).slice(0, 16);
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

  /** Gives those that are open no more by this event. */
  take(event: RunEvent): readonly OpenApproval[] {
    switch (event.type) {
      case 'run.started':
        this.#runId = event.runId;
        return [];
      case 'approval.requested':
        return this.#ask(event);
      case 'tool.started':
      case 'tool.finished':
      case 'tool.denied':
      case 'state.changed':
        return event.callId === undefined ? [] : this.#close([event.callId]);
      case 'run.finished':
        return this.#close([...this.#open.keys()]);
      default:
        return [];
    }
  }

  #close(callIds: readonly string[]): readonly OpenApproval[] {
    const closed = callIds.flatMap((callId) => this.#open.get(callId) ?? []);
    for (const callId of callIds) this.#open.delete(callId);
    return closed;
  }

  /** A call may be asked about again, with other arguments. */
  #ask(event: RunEvent & { readonly type: 'approval.requested' }): readonly OpenApproval[] {
    const { callId, tool, args, reason, policy, limitMs, child } = event;
    const before = this.#open.get(callId);
    const sum = argsDigest(args);
    this.#open.set(callId, {
      id: `${globalCallId(this.#runId, callId)}:${sum}`,
      callId,
      tool,
      args,
      digest: sum,
      reason,
      ...defined({ policy, limitMs, child }),
      isQuestion: /q\d+$/.test(callId),
    });
    return before === undefined || before.digest === sum ? [] : [before];
  }
}

/** What the model is sent of a result, as a value: the data where that is all there is. */
export function shownResult(result: { readonly [key: string]: Json | undefined; readonly status: string }): Json {
  const { data, status, forUser: _forUser, ...rest } = result;
  const isPlain = status === 'success' && data !== undefined && Object.values(rest).every((one) => one === undefined);
  return isPlain ? data : JSON.parse(JSON.stringify(result));
}
