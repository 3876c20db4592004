import { queuedEvent } from '../run/messages.ts';
import type { Message } from '../../actors/model.ts';
import { type Recording, recordingLines } from '../../journal/format/recording.ts';
import { runRecord } from '../../journal/format/run-input.ts';
import type { ExploredStart, ReplayOptions } from '../../journal/replay/replay.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { AgentCore } from '../core/agent-core.ts';
import {
  type Delivery,
  type ForkRunOptions,
  type OrphanOptions,
  type ResumedOrphans,
  type Inherited,
  type ResumeOptions,
  type WakeOptions,
  type WokenRun,
  ownerIn,
  type RefusedRun,
} from '../options/run-options.ts';
import { type RunAnswer, type RunRequest, askElsewhere } from '../run/ask-run.ts';
import { type AnyRun, type PendingApproval, approvalGiven } from '../run/run.ts';
import type { NextRuns, StartedRun } from '../run/run-plan.ts';
import { forkRun } from './fork-run.ts';
import { type RunsOf, liveRuns } from './live-runs.ts';
import { type Sleeper, wakeRuns } from './wake-runs.ts';
import { replayRun } from './replay-run.ts';
import { resumeRun } from './resume-run.ts';
import { type StoredRun, answerStored, pendingStored, sendStored } from './stored-approvals.ts';
import { JournalError } from '../../journal/format/journal-error.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { ResumeError } from '../options/agent-errors.ts';

/** What an agent does with runs that have a past. */
export type PastRuns = ReturnType<typeof pastRuns>;

/** How `agent.logic` resumes a run. */
interface CarryOn {
  readonly context: unknown;
  /** As in the options of a run. Default false. */
  readonly park?: boolean;
  readonly isWanted?: ((recording: Recording) => boolean) | undefined;
  readonly tries?: number;
  readonly after: Promise<unknown> | undefined;
  readonly onStable: () => void;
  /** Default: no one. */
  readonly next?: NextRuns;
}

interface Owner extends RunsOf {
  /** The agent's own conversation. */
  readonly own: {
    /** Starts the runs that queued messages are the inputs of. */
    readonly next: (messages: Parameters<NextRuns>[0], how: Inherited) => ReturnType<NextRuns>;
    /**
     * Makes a run the agent's own; returns a function to call when it is over, with the history that it started from.
     * `null`: there is no result, and the history stays as it is.
     */
    occupy(run: StartedRun): (result: AnyResult | null, history: readonly Message[]) => Promise<unknown> | undefined;
  };
}

/** Binds what can be done with past runs to an agent. */
export function pastRuns(core: AgentCore, owner: Owner) {
  const { runs, own } = owner;
  const live = liveRuns(core, owner);
  const nobody = { onTaken: () => undefined, onDone: () => undefined };
  const carryOn = (runId: string, { context, park = false, after, next: then, ...how }: CarryOn): AnyRun => {
    const told = { ...nobody, ...how, next: then };
    return resumeRun(live, runId, { context, park }, after === undefined ? told : { ...told, after }).run;
  };
  /** The run is resumed only to be ended: nothing of it is started again. */
  const cancelStored = async (runId: string, reason: string): Promise<boolean> => {
    const recording = (await core.journal().read?.(runId)) ?? null;
    if (recording === null || recording.lines.at(-1)?.t === 'end') return false;
    const { run } = resumeRun(live, runId, {}, { ...nobody, onlyEnds: true, tries: 0 });
    const cancelled = run.cancel(reason);
    await run;
    return cancelled;
  };
  const alone = (runId: string, asked: RunRequest): Promise<boolean | Delivery> => {
    const redactorOf: StoredRun['redactorOf'] = (recording) => core.redaction.redactorOf(recording);
    const stored = { store: core.journal(), runId, redactorOf };
    switch (asked.do) {
      case 'approve':
        return answerStored(stored, asked.callId, approvalGiven(asked.how));
      case 'reject':
        return answerStored(stored, asked.callId, { type: 'approval.refused', reason: asked.reason });
      case 'cancel':
        return cancelStored(runId, asked.reason);
      case 'queue':
        return sendStored(stored, queuedEvent(asked.id, asked.input, asked.metadata));
      case 'steer': {
        const { id, text, interrupt } = asked;
        return sendStored(stored, { type: 'message.steered', id, text, ...(interrupt ? { interrupt } : {}) });
      }
    }
  };
  return {
    replay: (recording: Recording, options: ReplayOptions): AnyRun => replayRun(core, recording, options),
    fork: (recording: Recording, options: ForkRunOptions): AnyRun => forkRun(live, recording, options),
    resume: (runId: string, options: ResumeOptions): AnyRun => {
      let history: readonly Message[] = [];
      // A conversation keeps its messages, and what was queued in it. What was behind a run that had ended was returned with it.
      let [isOwn, isOver] = [true, false];
      const started = resumeRun(live, runId, options, {
        next: (messages) =>
          isOwn && !isOver ? own.next(messages, options) : messages.map(async () => (isOwn ? null : 'kept')),
        onTaken: (before, { head, lines }) => {
          history = before;
          isOwn = ownerIn(head) === undefined;
          isOver = lines.at(-1)?.t === 'end';
        },
        onDone: (result) => over(isOwn ? result : null, history),
      });
      const over = own.occupy(started);
      return started.run;
    },
    /** Resumes a run that is not of the agent's own conversation, which is left alone. */
    carryOn,
    wake: (given: WakeOptions): Promise<readonly WokenRun[]> => {
      const how = { park: true, tries: 0, after: undefined, onStable: () => undefined };
      const resume: Sleeper['resume'] = (runId, context, isWanted) => carryOn(runId, { ...how, context, isWanted });
      return wakeRuns({ agent: core.name, store: core.journal(), resume }, given);
    },
    orphans: (options: OrphanOptions): Promise<ResumedOrphans<AnyRun>> =>
      resumeOrphans({ agent: core.name, journal: core.journal(), carryOn }, options),
    pending: (runId: string): Promise<readonly PendingApproval[]> => pendingStored(core.journal(), runId),
    /** A run as JSON lines; null where there is none. */
    recording: async (runId: string): Promise<string | null> => {
      const here = [...runs.keys()].find(({ run }) => run.runId === runId)?.run.recording() ?? '';
      if (here !== '') return here;
      const found = (await core.journal().read?.(runId)) ?? null;
      return found === null ? null : recordingLines(found);
    },
    /** Asks something of a run that is not live here. */
    ask: <T extends RunRequest>(runId: string, request: T): Promise<RunAnswer<T>> =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `alone` does what was asked
      askElsewhere(core.journal(), runId, request, () => alone(runId, request) as Promise<RunAnswer<T>>),
  };
}

/** How a run of this task would begin now, for exploring what it could do. */
export async function exploredStart(
  core: AgentCore,
  task: string,
  history: readonly Message[],
): Promise<ExploredStart> {
  const makeSetup = await core.prepare({ signal: new AbortController().signal });
  const refused = core.mcp.missing();
  const whole = { task, history, setup: makeSetup(), ...(refused === null ? {} : { refused }) };
  const head = core.redaction.redacted(
    runRecord(whole, { runId: 'explored', at: new Date(0).toISOString(), metadata: {} }),
  );
  return { head, work: core.work() };
}

/** Resumes an agent's runs that have not ended and that no process writes, oldest first, except those that wait for a person. */
async function resumeOrphans(
  { agent, journal, carryOn }: Pick<PastRuns, 'carryOn'> & { readonly agent: string; readonly journal: JournalStore },
  { olderThan = 0, limit = Number.POSITIVE_INFINITY, context, contextFor = () => context }: OrphanOptions,
): Promise<ResumedOrphans<AnyRun>> {
  if (journal.list === undefined || journal.take === undefined) throw new ResumeError('journal-cannot-resume', null);
  // Without a least age, also those of a process whose clock was ahead.
  const latest = olderThan === 0 ? Number.POSITIVE_INFINITY : Date.now() - olderThan;
  const orphans = (await journal.list({ agent, state: 'interrupted' })).filter(({ at }) => Date.parse(at) <= latest);
  const runs: AnyRun[] = [];
  const refused: RefusedRun[] = [];
  for (const orphan of orphans.toReversed()) {
    if (runs.length >= limit) break;
    const { runId } = orphan;
    try {
      const live = Promise.withResolvers<null>();
      // Others may take a run meanwhile: no more are held than are asked for.
      const how = { context: await contextFor(orphan), tries: 0, after: undefined, onStable: () => live.resolve(null) };
      const run = carryOn(runId, how);
      // It was played to its end: another process was faster.
      const isOver = run.then(() => Promise.reject(new JournalError('run-locked', runId, 'the journal')));
      await Promise.race([live.promise, isOver]);
      runs.push(run);
    } catch (error) {
      if (!isGoneElsewhere(error)) refused.push({ runId, error });
    }
  }
  return { runs, refused };
}

/** Another process was faster: it has the run, or has removed it. */
function isGoneElsewhere(error: unknown): boolean {
  if (error instanceof JournalError) return error.code === 'run-locked';
  return error instanceof ResumeError && error.code === 'run-unknown';
}
