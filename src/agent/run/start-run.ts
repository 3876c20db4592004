/**
 * Owns: one run from its input to its result: journal, machine, events. Does not own: the agent (its history, its being
 * busy), and what the events are shown with.
 *
 * I1 The result never rejects, but for a replay that diverges.
 * I2 A listener, an output or a journal that fails never breaks the machine: the first two are ignored, the last ends the
 *    run as failed.
 */
import type { SnapshotFrom } from 'xstate';
import type { Effect, OutsideEvent } from '../../actors/journal.ts';
import type { LeafWork } from '../../actors/leaf.ts';
import type { Vault } from '../../actors/vault.ts';
import { type Drive, drive, recordedOutput } from '../../journal/drive.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import { type Recorder, recorder, stopwatch } from '../../journal/format/recording.ts';
import type { RunJournal } from '../../journal/run-journal.ts';
import type { RunPort } from '../../inspector/frames/run-port.ts';
import { ROOT_ID, inputOf } from '../../journal/format/run-input.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import type { RunEvent, RunEventBody, Transition } from '../../machines/events/run-events.ts';
import { runEventReader } from '../../machines/events/run-event-reader.ts';
import type { AgentOutput, RunResult } from '../../machines/agent/run-result.ts';
import { type Move, moveReader, stateText } from '../../machines/events/transition-log.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { eventLog } from './event-log.ts';
import { eventOfNote } from './note-event.ts';
import { type PendingLogins, pendingApprovals } from './pending-approvals.ts';
import { failedOutput, releasedOutput, stateOf } from './run-state.ts';
import { runWatch } from './run-watch.ts';
import { type Run, approvalGiven, runHandle } from './run.ts';
import { tokenEvents } from './token-events.ts';

/** What a run needs to begin, found out before it does. */
export interface RunStart {
  /** Sealed: secrets are marks in it already. */
  readonly head: RunRecord;
  /** What the leaves do for this agent. */
  readonly work: LeafWork;
  /** Opens the journal; `place` tells the machine's state as a dotted path. */
  readonly journal: (
    accepts: (event: OutsideEvent, to: string | undefined) => boolean,
    place: () => string,
  ) => RunJournal;
  /** Where the run can be looked at while it goes on. Default: nowhere. */
  readonly inspector?: RunPort | null;
}

/** Makes the start of a run, at the very moment at which it starts; `cancelled`: it was, and why. */
export type MakeStart = (cancelled: string | undefined) => RunStart;

interface RunPlan {
  readonly runId: string;
  readonly task: string;
  /** Waits for what the run needs, at most until it is cancelled. */
  readonly prepare: (signal: AbortSignal) => MakeStart | Promise<MakeStart>;
  readonly context: unknown;
  readonly traceparent?: string | undefined;
  readonly vault: Vault;
  /** Whether what happens now is played from a recording. While it is, whatever fails makes the result reject. */
  readonly replayed: () => boolean;
  /** Resolves when nothing is played any more; answers to waiting calls are held until then. */
  readonly caughtUp?: Promise<unknown>;
  /** Starts another run from a record of this one, and gives its id; left out where that would lead nowhere. */
  readonly fork?: (recording: string, entry: number, outcome: Json | undefined) => Promise<string>;
  readonly onEvent: (event: RunEvent) => void;
  /** The sign-ins that the agent's servers wait for. */
  readonly logins?: PendingLogins;
  /** Gets the system prompt of each request. */
  readonly onPrompt?: (prompt: string) => void;
  /** Called once, before the result is known to anybody else; null when there is none, since what was played failed. */
  readonly onDone: (result: RunResult | null) => void | Promise<void>;
  /** Whether the run may be released. Default: no. */
  readonly resumable?: boolean;
  /** Called whenever the machine has come to rest; while it is played from a recording only when that is over. */
  readonly onStable?: () => void;
}

/** A run, and what its agent may do with it beyond what the handle offers. */
export interface StartedRun {
  readonly run: Run;
  /** Puts an event from outside in order; false when the run does not take it. */
  readonly send: (event: OutsideEvent) => Promise<boolean>;
  /** Tells of something that is no part of the run itself; it has the number of the event before it. */
  readonly announce: (body: RunEventBody) => void;
}

/** Starts a run at once. */
export function startRun(plan: RunPlan): StartedRun {
  const { runId, replayed, vault } = plan;
  const log = eventLog();
  const moves: Transition[] = [];
  const pending = pendingApprovals(runId);
  const preparing = new AbortController();
  let cancelled: string | undefined;
  let live: { readonly driven: Drive; readonly journal: RunJournal; readonly recording: Recorder } | null = null;
  let finished: RunResult | null = null;
  let released = false;
  const begun = Promise.withResolvers<undefined>();
  const watch = runWatch();
  let seq = 0;
  const tokens = tokenEvents();

  const publish = (event: RunEvent): void => {
    log.push(event);
    try {
      plan.onEvent(event);
    } catch {
      // Whoever listens must not stop what it listens to.
    }
    watch.onEvent(event);
  };
  const emit = (body: RunEventBody, agent = ''): void => {
    if (replayed() && body.type === 'model.replied' && body.text !== '' && streams())
      publish({ ...tokens.whole(body.text, agent), seq, replayed: true, ...ofAgent(agent) });
    seq += 1;
    if (body.type === 'run.finished') finished = body.result;
    publish({ ...body, seq, replayed: replayed(), ...ofAgent(agent) });
  };
  const streams = (): boolean => snapshot()?.context.settings.streaming === true;
  const snapshot = (): SnapshotFrom<typeof agentMachine> | undefined => live?.driven.actor.getSnapshot();

  const onNote = (effect: Effect, note: JsonObject): void => {
    const told = effect.name === 'callTool' ? eventOfNote(effect, note) : null;
    if (told !== null) return publish({ ...told, seq, replayed: replayed(), ...ofAgent(tokens.placeOf(effect.id)) });
    const token = tokens.event(effect.id, note);
    if (token !== null) publish({ ...token.body, seq, replayed: replayed(), ...ofAgent(token.agent) });
  };
  const onStart = ({ name, request }: Effect): void => {
    if (name === 'callLlm' && plan.onPrompt !== undefined) plan.onPrompt(promptOf(request));
  };

  const onMove =
    (read: (move: Move) => void) =>
    (move: Move): void => {
      if (move.transition !== null) moves.push(move.transition);
      pending.follow(move);
      tokens.follow(move);
      watch.onMove(move);
      read(move);
    };

  const showTo = (inspector: RunPort | null, head: RunRecord, recording: Recorder): void =>
    watch.attach(inspector, { head, recording, run, send, fork: plan.fork });

  /** The run has no end: whoever listens is told that nothing more comes, by an event that no resumed run counts. */
  const letGo = (at: SnapshotFrom<typeof agentMachine>): RunResult => {
    const result: RunResult = {
      ...releasedOutput(runId, plan.task, at),
      runId,
      durationMs: live?.recording.elapsed ?? 0,
    };
    publish({ type: 'run.finished', result, seq, replayed: false });
    return result;
  };

  const done = (async (): Promise<RunResult> => {
    const makeStart = await plan.prepare(preparing.signal);
    const { head, work, journal: open, inspector = null } = makeStart(cancelled);
    const journal = open(
      (event, to) => live?.driven.accepts(event, to) ?? false,
      () => stateText(snapshot()?.value ?? ''),
    );
    const at = journal.at ?? stopwatch();
    const recording = recorder(head, at);
    const reader = runEventReader({ runId, now: () => recording.elapsed, emit });
    const driven = drive({
      logic: agentMachine,
      work,
      vault,
      id: ROOT_ID,
      input: inputOf(head),
      journal,
      recorder: recording,
      context: plan.context,
      traceparent: plan.traceparent,
      onNote,
      onStart,
      inspect: moveReader(() => true, onMove(reader)),
    });
    live = { driven, journal, recording };
    begun.resolve(undefined);
    showTo(inspector, head, recording);
    if (released) journal.release?.();
    const isOver = await runLoop(driven, { journal, recording, onStable: () => replayed() || plan.onStable?.() });
    if (!isOver) return letGo(driven.actor.getSnapshot());
    const output: AgentOutput | undefined = driven.actor.getSnapshot().output;
    const result: RunResult = finished ?? {
      ...(output ?? failedOutput(plan.task, driven.actor.getSnapshot())),
      runId,
      durationMs: 0,
    };
    return result;
  })();

  const ended = done.then(
    async (result) => {
      watch.ended(result);
      await plan.onDone(result);
      log.close();
      return vault.open(result);
    },
    async (error: unknown) => {
      if (replayed()) {
        await plan.onDone(null);
        log.close(error instanceof Error ? error : new Error(String(error)));
        throw error;
      }
      const result: RunResult = vault.seal({ ...failedOutput(plan.task, snapshot(), error), runId, durationMs: 0 });
      emit({ type: 'run.finished', result });
      watch.ended(result);
      await plan.onDone(result);
      log.close();
      return vault.open(result);
    },
  );

  const send = (event: OutsideEvent, to?: string): Promise<boolean> =>
    live?.journal.send(vault.seal(event), to) ?? Promise.resolve(false);
  const answer = async (callId: string, event: OutsideEvent): Promise<boolean> => {
    await plan.caughtUp;
    const waiting = pending.find(callId);
    return waiting === undefined ? false : send(event, waiting.path);
  };
  const run = runHandle({
    runId,
    done: ended,
    state: () => stateOf(snapshot()),
    read: log.read,
    release: async () => {
      if (plan.resumable !== true || finished !== null) return false;
      released = true;
      if (live === null) await Promise.race([begun.promise, ended.catch(() => undefined)]);
      if (live?.journal.release === undefined) return false;
      live.journal.release();
      return (await ended.catch(() => null))?.status === 'waiting';
    },
    cancel: async (reason) => {
      if (live !== null) return send({ type: 'run.cancelled', reason });
      if (finished !== null) return false;
      cancelled ??= reason;
      preparing.abort();
      return true;
    },
    approve: async (callId, how) => plan.logins?.approve(callId, how.args) ?? answer(callId, approvalGiven(how)),
    reject: async (callId, reason) =>
      plan.logins?.reject(callId) ?? answer(callId, { type: 'approval.refused', reason }),
    pending: () => (live?.driven.isActive() === true ? [...pending.list(), ...(plan.logins?.list(runId) ?? [])] : []),
    recording: () => live?.recording.text() ?? '',
    transitions: () => [...moves],
  });
  return { run, send, announce: (body) => publish({ ...body, seq, replayed: replayed() }) };
}

function ofAgent(agent: string): { readonly child?: string } {
  return agent === '' ? {} : { child: agent };
}

interface Driving {
  readonly journal: RunJournal;
  readonly recording: Recorder;
  readonly onStable: () => void;
}

/** Drives a run to its end; false: it was let go before. */
async function runLoop(driven: Drive, { journal, recording, onStable }: Driving): Promise<boolean> {
  driven.start();
  try {
    while (driven.isActive()) {
      onStable();
      const entry = await journal.next();
      if (entry === null) break;
      driven.deliver(entry);
    }
    onStable();
  } catch (error) {
    driven.actor.stop();
    await journal.abandon?.();
    throw error;
  }
  if (driven.isActive()) {
    driven.actor.stop();
    await journal.abandon?.();
    return false;
  }
  const output = recordedOutput(driven.actor.getSnapshot().output);
  recording.end(output);
  await journal.end(output);
  return true;
}

/** The system prompt of a request to a model. */
function promptOf(request: Json): string {
  const messages: Json = isJsonObject(request) ? (request.messages ?? null) : null;
  const first: unknown = Array.isArray(messages) ? messages[0] : undefined;
  return isJsonObject(first) && typeof first.content === 'string' ? first.content : '';
}
