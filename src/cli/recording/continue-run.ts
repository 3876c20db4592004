import type { AnyRun } from '../../agent/run/run.ts';
import type { Outcome } from '../../actors/journal.ts';
import { ReplayDivergenceError } from '../../journal/replay/divergence.ts';
import { FORK } from '../../journal/replay/fork.ts';
import { writtenOutcome } from '../../journal/format/cut-recording.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { describeThrown } from '../../json/to-json.ts';
import { type AgentChoices, readAgentChoices } from '../agent/agent-flags.ts';
import { type ChosenJournal, makeAgent } from '../agent/make-agent.ts';
import { answerOnConsole, reportEnd, runOnce } from '../agent/run-once.ts';
import { type Arguments, EXIT_CODE, UsageError } from '../command/command.ts';
import { escaped, machineJson } from '../../output/console/escaped.ts';
import { openRuns, readCount, type RunsPlace, wholeRunId } from './kept-runs.ts';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

interface ForkedFile {
  readonly recording: Recording;
  readonly at: number;
  readonly input: string | undefined;
  /** An outcome, or the value of one. */
  readonly outcome?: Json;
  readonly recorded: boolean;
  readonly json: boolean;
}

/** Forks a recording, and shows the new run as `signalbox run` does. */
export async function forkFile(forked: ForkedFile, choices: AgentChoices): Promise<number> {
  const { recording, at, input, recorded, json } = forked;
  const cli = await makeAgent(choices, { answerOnConsole: !json && answerOnConsole() });
  try {
    const { result } = await runOnce(cli, (signal) => {
      try {
        return cli.agent[FORK](recording, {
          at,
          signal,
          // oxlint-disable-next-line unicorn/no-thenable -- so the option is called; a text is never awaited for it
          then: recorded ? 'recorded' : 'live',
          ...(input === undefined ? {} : { input }),
          ...(forked.outcome !== undefined ? { outcome: outcomeOf(forked.outcome) } : {}),
        });
      } catch (error) {
        if (error instanceof TypeError) throw new UsageError(error.message);
        throw error;
      }
    });
    return reportEnd(cli, result, { json });
  } catch (error) {
    if (!(error instanceof ReplayDivergenceError) || error.cause !== 'toolset-changed') throw error;
    const how = `A run whose own tools ran before line ${at} is forked in code, on its agent: fork(recording, agent, { at: ${at} }) of signalbox/journal.`;
    throw new Error(`${error.message}\n${how}`, { cause: error });
  } finally {
    await cli.close();
  }
}

function outcomeOf(given: Json): Outcome {
  const outcome = writtenOutcome(given, undefined);
  if (outcome.ok && isJsonObject(given) && given['ok'] === false)
    throw new UsageError('--outcome: an outcome that is not ok needs an error with code and message.');
  return outcome;
}

/** Continues a run to its end, as `signalbox run` does with a new one. */
export async function resumeKeptRun(args: Arguments): Promise<number> {
  const place = openRuns(args.values.get('in'));
  const choices = readAgentChoices(args);
  const json = args.flags.has('json');
  const runId = await wholeRunId(place, args.positionals[0] ?? '');
  if (runId === null) return EXIT_CODE.failed;
  const cli = await makeAgent(choices, { answerOnConsole: !json && answerOnConsole(), journal: journalAt(place) });
  try {
    const before = (await place.store.list()).find((run) => run.runId === runId);
    if (before?.state === 'ended') console.error(`Run ${runId} has ended already.`);
    const { result } = await runOnce(cli, (signal) => cli.agent.resume(runId, { signal }));
    return reportEnd(cli, result, { json, over: before?.state === 'ended' });
  } finally {
    await cli.close();
  }
}

/**
 * Finishes the runs in a store that no process drives any more, one after the other. The first signal to stop gives the run
 * back that is being finished, for another process to take up; a second one ends the process.
 */
export async function recoverKeptRuns(args: Arguments): Promise<number> {
  const place = openRuns(args.values.get('in'));
  const choices = readAgentChoices(args);
  const limit = readCount(args.values, 'limit') ?? Number.POSITIVE_INFINITY;
  const seconds = readCount(args.values, 'older-than') ?? 0;
  const json = args.flags.has('json');
  const cli = await makeAgent(choices, { answerOnConsole: false, journal: journalAt(place) });
  const ended: { readonly runId: string; readonly status: string; readonly error?: string }[] = [];
  const refused = new Map<string, string>();
  let current: Pick<AnyRun, 'release'> | undefined;
  const stop = new AbortController();
  const unhandle = cli.interrupts.handle(() => {
    if (stop.signal.aborted) process.exit(EXIT_CODE.cancelled);
    stop.abort();
    void current?.release();
  });
  try {
    while (ended.length < limit && !stop.signal.aborted) {
      // One run after the other: each may need a terminal.
      const found = await cli.agent.resumeOrphans({ limit: 1, olderThan: seconds * 1000 });
      for (const { runId, error } of found.refused) refused.set(runId, describeThrown(error).message);
      const [run] = found.runs;
      if (run === undefined) break;
      current = run;
      if (stop.signal.aborted) void run.release();
      const { status, reason, error } = await run;
      const end = reason === 'released' ? reason : status;
      ended.push({ runId: run.runId, status: end, ...(error === undefined ? {} : { error: error.message }) });
      // A run that waits or could not be written is still listed: it would be found again.
      if (!(await hasEnded(place, run.runId))) break;
    }
  } finally {
    unhandle();
    await cli.close();
  }
  ended.push(...[...refused].map(([runId, error]) => ({ runId, status: 'refused', error })));
  if (json) console.log(machineJson(ended));
  else if (ended.length === 0)
    console.log(`No run of the agent '${cli.agent.name}' in ${escaped(place.path)} needs to be recovered.`);
  else
    for (const { runId, status, error } of ended)
      console.log(`${escaped(runId)}: ${status}${error === undefined ? '' : `: ${escaped(error)}`}`);
  if (stop.signal.aborted) return EXIT_CODE.cancelled;
  return ended.some(({ status }) => status === 'failed' || status === 'refused')
    ? EXIT_CODE.failed
    : EXIT_CODE.answered;
}

/** False also where that cannot be known now. */
async function hasEnded({ store }: RunsPlace, runId: string): Promise<boolean> {
  try {
    return (await store.read(runId))?.lines.at(-1)?.t === 'end';
  } catch {
    return false;
  }
}

/** The runs of a place as an agent's journal. */
function journalAt({ path, store }: RunsPlace): ChosenJournal {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  const fileOf = (runId: string): string | undefined => {
    const file = join(path, `${runId}.jsonl`);
    return !isFile && existsSync(file) ? file : undefined;
  };
  return { kind: 'files', journal: store, fileOf };
}
