import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { ModelError, type Model, type ModelRequest, type ModelReply } from '../../../src/actors/model.ts';
import type { ExecuteContext } from '../../../src/tools/tool.ts';
import { fileJournal } from '../../../src/journal/stores/file.ts';
import { createMcpConnection } from '../../../src/mcp/index.ts';
import type { JsonObject } from '../../../src/json/json.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { tool } from '../../../src/tools/tool.ts';
import { COMPILED } from '../../support/mcp/hostile-entry.ts';
import type { Deed, Job } from '../job.ts';

/** Begins or takes up all runs of a job, and waits for them. */
export async function runAll(job: Job): Promise<void> {
  const script = fileURLToPath(new URL('mcp-notes.ts', import.meta.url));
  const notes = createMcpConnection('notes', {
    command: process.execPath,
    args: [script, job.log, job.dir],
    env: COMPILED,
  });
  await Promise.all(job.runs.map((run) => runOne(job, run, notes)));
  await notes.disconnect();
}

async function runOne({ dir, log }: Job, runId: string, notes: ReturnType<typeof createMcpConnection>): Promise<void> {
  const journal = fileJournal(dir);
  const path = `${dir}/${runId}.jsonl`;
  const agent = createAgent({
    name: 'worker',
    instructions: 'Work.',
    silent: true,
    confirm: 'wait',
    journal,
    model: worker(`${path}.asked`),
    mcpServers: { notes },
    retry: { backoff: recover.constant(3) },
    timeouts: { totalMs: 600_000, approvalMs: 600_000 },
    tools: toolsOf(runId, path, log),
  });
  const isThere = (await journal.read?.(runId)) != null;
  const run = isThere ? agent.resume(runId) : agent.run(`Work on ${runId}`, { runId });
  for await (const event of run) if (event.type === 'approval.requested') void run.approve(event.callId);
  await run;
  await agent.close();
}

/** Answers by how often it has answered already, so that one process goes on where another stood. */
function worker(asked: string): Model {
  return {
    id: 'worker',
    complete: async ({ messages }: ModelRequest): Promise<ModelReply> => {
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      const run = String(messages.find(({ role }) => role === 'user')?.content).replace('Work on ', '');
      await wait(1);
      if (turn === 1 && !existsSync(asked)) {
        appendFileSync(asked, 'once\n');
        throw new ModelError('server-error', 'try again', { status: 503 });
      }
      const call = (name: string, args: JsonObject) => ({ name, arguments: args });
      switch (turn) {
        case 0:
          return {
            content: '',
            toolCalls: [
              call('look', { at: 'left' }),
              call('look', { at: 'right' }),
              call('flaky', {}),
              call('notes_note', { run, text: 'begun' }),
            ],
          };
        case 1:
          return { content: '', toolCalls: [call('pay', { amount: 5 }), call('danger', {})] };
        case 2:
          return {
            content: '',
            toolCalls: [
              call('make_plan', {
                plan: [
                  { tool: 'look', tool_args: { at: 'up' } },
                  { tool: 'look', tool_args: { at: '$PREV.seen' } },
                ],
              }),
            ],
          };
        default:
          return { content: answer(JSON.stringify(messages)) };
      }
    },
  };
}

function answer(conversation: string): string {
  const has = (text: string) => (conversation.includes(text) ? 'yes' : 'no');
  const paid = conversation.includes('paid in full') ? 'yes' : conversation.includes('nobody knows') ? 'unknown' : 'no';
  return `looked: ${has('up!!')}, flaky: ${has('at last')}, noted: ${has('noted')}, danger: ${has('survived')}, paid: ${paid}`;
}

/** Whether an effect of this key has a good outcome in a recording. */
function hasSucceeded(recording: string, key: string): boolean {
  const lines = recording.split('\n');
  const ids = lines.flatMap((line) => (line.includes(`"key":"${key}"`) ? [/"id":"([^"]+)"/.exec(line)?.[1]] : []));
  return lines.some(
    (line) =>
      line.startsWith('{"t":"outcome"') && line.includes('"ok":true') && ids.some((id) => line.includes(`"${id}"`)),
  );
}

function toolsOf(run: string, path: string, log: string) {
  const deed = (name: string, { callId, idempotencyKey: key }: ExecuteContext, finished: boolean): void => {
    const alreadyKnown = !finished && hasSucceeded(readFileSync(path, 'utf8'), key.slice(run.length + 1));
    const noted: Deed = { run, tool: name, finished, callId, key, alreadyKnown };
    appendFileSync(log, `${JSON.stringify(noted)}\n`);
  };
  const work = async <T>(name: string, io: ExecuteContext, result: T): Promise<T> => {
    deed(name, io, false);
    await wait(name === 'look' ? 2 : 1);
    deed(name, io, true);
    return result;
  };
  const object = { type: 'object' };
  return [
    tool({
      name: 'look',
      description: 'Looks.',
      effects: 'none',
      inputSchema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
      execute: ({ at }: JsonObject, io) => work('look', io, { seen: `${String(at)}!` }),
    }),
    tool({
      name: 'flaky',
      description: 'Fails at first.',
      effects: 'idempotent',
      inputSchema: object,
      onError: { executionError: [recover.retry({ maxAttempts: 3, backoff: recover.constant(2) })] },
      execute: async (_args: JsonObject, io) => {
        const before = existsSync(`${path}.flaky`);
        appendFileSync(`${path}.flaky`, 'x');
        if (before) return work('flaky', io, 'at last');
        deed('flaky', io, false);
        throw new Error('not yet');
      },
    }),
    tool({
      name: 'pay',
      description: 'Pays, once.',
      inputSchema: { type: 'object', properties: { amount: { type: 'number' } } },
      execute: (_args: JsonObject, io) => work('pay', io, 'paid in full'),
    }),
    tool({
      name: 'danger',
      description: 'Is asked about first.',
      effects: 'idempotent',
      policy: 'confirm',
      inputSchema: object,
      execute: (_args: JsonObject, io) => work('danger', io, 'survived'),
    }),
  ];
}
