import { join } from 'node:path';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { interrupted } from '../journal/stored-runs.ts';
import { runCli, temporaryFolder } from './spawn-cli.ts';

/** Runs an agent that knows the weather; two runs of it differ in nothing but times. */
export async function weatherRun(journal: JournalStore, runId: string, more: AgentOptions = {}): Promise<void> {
  await createAgent({
    name: 'weather',
    instructions: 'You know the weather.',
    tools: [fakeTool('get_weather', [{ celsius: 21 }])],
    model: scriptedModel([calls(['get_weather', { city: 'Austin' }]), 'It is 21 degrees.']),
    silent: true,
    journal,
    ...more,
  }).run('How warm is it in Austin?', { runId, metadata: { ticket: 17 } });
}

/** A folder with runs in `.signalbox/runs`: one answered, one failed, one that waits for an approval. */
export async function keptRuns(store: (folder: string) => JournalStore = inFiles) {
  const folder = await temporaryFolder();
  const journal = store(folder.path);
  await weatherRun(journal, 'a-good');
  await new Promise((resolve) => setTimeout(resolve, 2));
  await weatherRun(journal, 'b-bad', { name: 'other', model: scriptedModel([new Error('no'), new Error('no')]) });
  await new Promise((resolve) => setTimeout(resolve, 2));
  await interrupted(journal, 'c-cut');
  return {
    ...folder,
    journal,
    file: (runId: string) => join('.signalbox/runs', `${runId}.jsonl`),
    signalbox: (...args: readonly string[]) => runCli(args, { cwd: folder.path }),
  };
}

function inFiles(folder: string): JournalStore {
  return fileJournal(join(folder, '.signalbox/runs'));
}
