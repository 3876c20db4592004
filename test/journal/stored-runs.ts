import type { JsonObject } from '../../src/json/json.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RecordLine } from '../../src/journal/format/record.ts';
import type { JournalStore, RunJournal, TakenRun } from '../../src/journal/run/run-journal.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

/** A store that offers all that one may offer. */
export type WholeStore = Required<Omit<JournalStore, 'repair' | 'revision' | 'changes'>>;

/** The store with all its methods; fails the test where one is missing. */
export function whole(store: JournalStore): WholeStore {
  const { open, take, read, list, remove, claim, secrets, requests } = store;
  if (take === undefined || read === undefined || list === undefined) throw new Error('no whole store');
  if (claim === undefined || remove === undefined || secrets === undefined || requests === undefined)
    throw new Error('no whole store');
  return { open, take, read, list, remove, claim, secrets, requests };
}

/** The records of a run as the store has them, the head first. */
export async function recordsOf(store: JournalStore, runId: string): Promise<readonly RecordLine[]> {
  const recording = await whole(store).read(runId);
  return recording === null ? [] : [recording.head, ...recording.lines];
}

/** Runs an agent to its end: a tool call, then the answer. */
export async function answered(
  journal: JournalStore,
  runId: string,
  more: AgentOptions = {},
  metadata: JsonObject = { ticket: 17 },
) {
  const run = createAgent({
    name: 'clock',
    tools: [fakeTool('clock', ['12:30'])],
    model: scriptedModel([calls(['clock']), 'Half past twelve.']),
    silent: true,
    journal,
    ...more,
  }).run('What time is it?', { runId, metadata });
  const result = await run;
  // A run is thenable: it cannot be returned as it is from here.
  return { result, recording: run.recording(), moves: run.transitions() };
}

/** Begins a run that waits for an approval, and gives its journal up then, as a crash does. */
export async function interrupted(store: JournalStore, runId: string): Promise<void> {
  const { journal } = await waiting(store, runId);
  await journal.abandon?.();
}

/** A run that waits for an approval. */
export async function waiting(store: JournalStore, runId: string) {
  const opened: RunJournal[] = [];
  const run = createAgent({
    name: 'mailer',
    tools: [fakeTool('send_mail', ['sent'], { policy: 'confirm' })],
    model: scriptedModel([calls(['send_mail']), 'Sent.']),
    confirm: 'wait',
    silent: true,
    journal: { ...store, open: (head) => opened[opened.push(store.open(head)) - 1] ?? store.open(head) },
  }).run('Mail Ada', { runId });
  for await (const event of run) if (event.type === 'approval.requested') break;
  const [journal] = opened;
  if (journal === undefined) throw new Error('nothing was opened');
  // The event tells of the machine, which asks first and is written then.
  while (!(await recordsOf(store, runId)).some((record) => record.t === 'start' && record.name === 'askApproval'))
    await new Promise((resolve) => setImmediate(resolve));
  return { run, journal };
}

/** Takes a run that is there. */
export async function taken(store: JournalStore, runId: string): Promise<TakenRun> {
  const run = await whole(store).take(runId);
  if (run === null) throw new Error(`there is no run ${runId}`);
  return run;
}
