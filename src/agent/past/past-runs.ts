import type { OutsideEvent } from '../../actors/journal.ts';
import type { Message } from '../../actors/model.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { runRecord } from '../../journal/format/run-input.ts';
import type { ExploredStart, ReplayOptions } from '../../journal/replay/replay.ts';
import type { Toolset } from '../../machines/contract/agent-setup.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { SentMessage } from '../../machines/contract/mail.ts';
import type { AgentCore } from '../core/agent-core.ts';
import {
  type ApprovalOptions,
  type Delivery,
  type ForkRunOptions,
  type OrphanOptions,
  type ResumedOrphans,
  type ResumeOptions,
  type SteerOptions,
  ownerIn,
} from '../options/run-options.ts';
import { askRun } from '../run/ask-run.ts';
import { type AnyRun, type PendingApproval, approvalGiven } from '../run/run.ts';
import type { NextRuns, StartedRun } from '../run/run-plan.ts';
import { forkRun } from './fork-run.ts';
import { liveRuns } from './live-runs.ts';
import { replayRun } from './replay-run.ts';
import { resumeOrphans } from './resume-orphans.ts';
import { resumeRun } from './resume-run.ts';
import { answerStored, pendingStored, sendStored } from './stored-approvals.ts';

/** What an agent does with runs that have a past. */
export interface PastRuns {
  replay(recording: Recording, options: ReplayOptions): AnyRun;
  fork(recording: Recording, options: ForkRunOptions): AnyRun;
  resume(runId: string, options: ResumeOptions): AnyRun;
  /** Takes up a run that is not the agent's own: its conversation stays as it is. */
  carryOn(runId: string, how: CarryOn): AnyRun;
  orphans(options: OrphanOptions): Promise<ResumedOrphans<AnyRun>>;
  pending(runId: string): Promise<readonly PendingApproval[]>;
  approve(runId: string, callId: string, how: ApprovalOptions): Promise<boolean>;
  reject(runId: string, callId: string, reason: string): Promise<boolean>;
  send(runId: string, message: SentMessage & SteerOptions, kind: 'steer' | 'queue'): Promise<Delivery>;
  /** Ends a run that has not ended; false when it has, and when there is none. */
  cancel(runId: string, reason: string): Promise<boolean>;
}

/** How `agent.logic` takes up a run. */
interface CarryOn {
  readonly context: unknown;
  readonly after: Promise<unknown> | undefined;
  readonly onStable: () => void;
  /** Default: nobody. */
  readonly next?: NextRuns;
}

interface Owner {
  /** All runs of the agent that go on, with the tools that each knows of. */
  readonly runs: Map<StartedRun, Toolset | null>;
  /** Hears of changes of the agents below, until what it gives back is called. */
  readonly followChildren: () => () => void;
  /**
   * Makes a run the agent's own; gives back what is called when it is over, with the history that it started from. `null`:
   * there is no result, and the history stays as it is.
   */
  /** Starts the run that a queued message is the input of. */
  readonly next: NextRuns;
  readonly occupy: (
    run: StartedRun,
  ) => (result: AnyResult | null, history: readonly Message[]) => Promise<unknown> | undefined;
}

/** Binds what can be done with past runs to an agent. */
export function pastRuns(core: AgentCore, { runs, followChildren, occupy, next }: Owner): PastRuns {
  const live = liveRuns(core, runs, followChildren);
  const carryOn: PastRuns['carryOn'] = (runId, { context, after, onStable, next: then }) => {
    const told = { onTaken: () => undefined, onDone: () => undefined, onStable, next: then };
    return resumeRun(live, runId, { context }, after === undefined ? told : { ...told, after }).run;
  };
  const answer = (runId: string, callId: string, event: OutsideEvent): Promise<boolean> =>
    answerStored(core.journal(), { runId, callId, answer: core.redactor.redact(event) });
  /** The run is taken up only to be ended: nothing of it is started again. */
  const cancelStored = async (runId: string, reason: string): Promise<boolean> => {
    const recording = (await core.journal().read?.(runId)) ?? null;
    if (recording === null || recording.lines.at(-1)?.t === 'end') return false;
    const run = carryOn(runId, { context: undefined, after: undefined, onStable: () => undefined });
    void run.cancel(reason);
    return (await run).status === 'cancelled';
  };
  return {
    replay: (recording, options) => replayRun(core, recording, options),
    fork: (recording, options) => forkRun(live, recording, options),
    resume: (runId, options) => {
      let history: readonly Message[] = [];
      // What was said in a conversation stays there, and so does what was queued in it.
      let isOwn = true;
      const started = resumeRun(live, runId, options, {
        next: (messages) => (isOwn ? next(messages) : messages.map(() => Promise.resolve('kept' as const))),
        onTaken: (before, head) => {
          history = before;
          isOwn = ownerIn(head) === undefined;
        },
        onDone: (result) => over(isOwn ? result : null, history),
      });
      const over = occupy(started);
      return started.run;
    },
    carryOn,
    orphans: (options) => resumeOrphans({ agent: core.name, journal: core.journal(), carryOn }, options),
    pending: (runId) => pendingStored(core.journal(), runId),
    approve: (runId, callId, how) => {
      const { always = false, args = null } = how;
      const alone = (): Promise<boolean> => answer(runId, callId, approvalGiven(how));
      return askRun(core.journal(), runId, { do: 'approve', callId, always, args }, alone);
    },
    reject: (runId, callId, reason) => {
      const alone = (): Promise<boolean> => answer(runId, callId, { type: 'approval.refused', reason });
      return askRun(core.journal(), runId, { do: 'reject', callId, reason }, alone);
    },
    send: (runId, { id, text, interrupt = false }, kind) => {
      const event =
        kind === 'queue'
          ? { type: 'message.queued', id, text }
          : { type: 'message.steered', id, text, ...(interrupt ? { interrupt } : {}) };
      const alone = (): Promise<Delivery> =>
        sendStored(core.journal(), { runId, message: core.redactor.redact(event) });
      const request = kind === 'queue' ? { do: kind, id, text } : { do: kind, id, text, interrupt };
      return askRun<Delivery>(core.journal(), runId, request, alone);
    },
    cancel: (runId, reason) =>
      askRun(core.journal(), runId, { do: 'cancel', reason }, () => cancelStored(runId, reason)),
  };
}

/** How a run of this task would begin now, for those who explore what it could do. */
export async function exploredStart(
  core: AgentCore,
  task: string,
  history: readonly Message[],
): Promise<ExploredStart> {
  const makeSetup = await core.prepare({ signal: new AbortController().signal });
  const refused = core.mcp.missing();
  const whole = { task, history, setup: makeSetup(), ...(refused === null ? {} : { refused }) };
  const head = core.redacted(runRecord(whole, { runId: 'explored', at: new Date(0).toISOString(), metadata: {} }));
  return { head, work: core.work() };
}
