import type { Message } from '../../actors/model.ts';
import { ReplayDivergenceError } from '../../journal/replay/divergence.ts';
import { playRecording } from '../../journal/replay/play-recording.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { RunSummary } from '../../journal/run-journal.ts';
import { inert } from '../../output/console/inert.ts';
import { UsageError } from '../command.ts';
import type { CliAgent } from '../agent/make-agent.ts';

/** Where a named conversation stands. */
export interface Session {
  /** A run of it that was interrupted, to be brought to its end first. */
  readonly interrupted: RunSummary | null;
  /** Messages so far, those of the interrupted run not counted. */
  readonly messages: number;
}

/**
 * Takes a named conversation up: the agent gets what was said in it, in whatever process that was. A conversation is its
 * runs, which carry its name. Throws when another process is at it.
 */
export async function openSession({ agent, journal }: CliAgent, name: string): Promise<Session> {
  const { list, read } = journal.journal;
  if (journal.kind === 'memory' || list === undefined || read === undefined)
    throw new UsageError('--session needs a folder in which runs can be kept, and does not go with --record.');
  const [last] = await list({ metadata: { session: name }, limit: 1 });
  if (last === undefined) return { interrupted: null, messages: 0 };
  if (last.state === 'running')
    throw new Error(`The conversation '${inert(name)}' is going on in another process, with run ${last.runId}.`);
  const recording = await read(last.runId);
  if (recording === null || last.state !== 'ended')
    return { interrupted: last, messages: recording?.head.history.length ?? 0 };
  const history = messagesAfter(recording);
  agent.setHistory(history);
  return { interrupted: null, messages: history.length };
}

/** The conversation behind a run that has ended. */
function messagesAfter(recording: Recording): readonly Message[] {
  const { head } = recording;
  try {
    const { driven } = playRecording(recording, () => undefined);
    return [...head.history, ...(driven.actor.getSnapshot().output?.messages ?? [])];
  } catch (error) {
    if (!(error instanceof ReplayDivergenceError)) throw error;
    console.error(
      `What was said last, in run ${head.runId}, was recorded by another version and is left out of the conversation.`,
    );
    return head.history;
  }
}
