import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentChoices } from '../agent/agent-options.ts';
import type { ChosenJournal } from '../agent/choose-journal.ts';
import { EXIT_CODE } from '../exit-code.ts';
import { makeAgent } from '../agent/make-agent.ts';
import { reportEnd, answerOnConsole } from '../run/report-result.ts';
import { wholeRunId } from './run-id-of.ts';
import { runOnce } from '../run/run-once.ts';
import type { RunsPlace } from './runs-place.ts';

interface ResumeHow {
  readonly choices: AgentChoices;
  readonly json: boolean;
}

/** Takes a run up and brings it to its end, as `signalbox run` does with a new one. */
export async function resumeRun(place: RunsPlace, wanted: string, { choices, json }: ResumeHow): Promise<number> {
  const runId = await wholeRunId(place, wanted);
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
export function journalAt({ path, store }: RunsPlace): ChosenJournal {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  const fileOf = (runId: string): string | undefined => {
    const file = join(path, `${runId}.jsonl`);
    return !isFile && existsSync(file) ? file : undefined;
  };
  return { kind: 'files', journal: store, fileOf };
}
