import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readAgentChoices } from '../agent/agent-flags.ts';
import { type ChosenJournal, makeAgent } from '../agent/make-agent.ts';
import { type Arguments, EXIT_CODE } from '../command/command.ts';
import { reportEnd, answerOnConsole, runOnce } from '../agent/run-once.ts';
import { openRuns, wholeRunId, type RunsPlace } from '../recording/kept-runs.ts';

/** Continues a run to its end, as `signalbox run` does with a new one. */
export async function resumeKeptRun(args: Arguments): Promise<number> {
  const place = openRuns(args.values.get('in'));
  const choices = readAgentChoices(args, process.env);
  const json = args.flags.has('json');
  const runId = await wholeRunId(place, args.positionals[0] ?? '');
  if (runId === null) return EXIT_CODE.failed;
  const cli = await makeAgent(choices, {
    answerOnConsole: !json && answerOnConsole(),
    journal: journalAt(place),
  });
  try {
    const before = (await place.store.list()).find((run) => run.runId === runId);
    if (before?.state === 'ended') console.error(`Run ${runId} has ended already.`);
    const { result } = await runOnce(cli, (signal) => cli.agent.resume(runId, { signal }));
    return reportEnd(cli, result, { json, said: before?.state !== 'ended' });
  } finally {
    await cli.close();
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
