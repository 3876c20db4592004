import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const folder = mkdtempSync(join(tmpdir(), 'signalbox-secrets-later-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const OURS = `sk-${'o'.repeat(30)}`;
const THEIRS = `sk-${'t'.repeat(30)}`;

/** An agent as each process makes it, on the same folder. */
function clerk(reply: Parameters<typeof scriptedModel>[0][number] = 'Done.') {
  const inputSchema = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
  const login = fakeTool('login', ['in'], { policy: 'confirm', inputSchema });
  const model = scriptedModel([reply]);
  return { login, agent: createAgent({ model, tools: [login], silent: true, journal: fileJournal(folder) }) };
}

const asked = (): ReturnType<typeof clerk> => clerk(calls(['login', { key: OURS }]));

const written = (runId: string): string => readFileSync(join(folder, `${runId}.jsonl`), 'utf8');

test('a tool gets the secret that a person put into the arguments of a parked call, in whatever process that was', async () => {
  const { runId } = await asked().agent.run(`Log in with ${OURS}.`, { park: true });
  expect(await clerk().agent.approve(runId, 'c1', { args: { key: THEIRS }, reason: `use ${THEIRS}` })).toBe(true);
  expect(written(runId)).not.toContain(THEIRS);
  const { agent, login } = clerk();
  expect(await agent.resume(runId)).toMatchObject({ status: 'answered' });
  expect(login.calls).toEqual([{ key: THEIRS }]);
});

test('a message to a stored run keeps its secret apart from those of the run', async () => {
  const { runId } = await asked().agent.run(`Log in with ${OURS}.`, { park: true });
  await clerk().agent.steer(runId, `Rather ${THEIRS}, not ${OURS}.`);
  await clerk().agent.approve(runId, 'c1');
  const { messages } = await clerk().agent.resume(runId);
  expect(messages).toContainEqual({ role: 'user', content: `Rather ${THEIRS}, not ${OURS}.` });
  expect(written(runId)).not.toMatch(/sk-/);
});

test('the reason of a cancel is recorded without its secrets, also of a run that no process drives', async () => {
  const { runId } = await asked().agent.run('Log in.', { park: true });
  await clerk().agent.cancel(runId, `leaked: ${THEIRS}`);
  const second = await asked().agent.run('Log in.', { park: true });
  await clerk().agent.resume(second.runId, { signal: AbortSignal.abort(new Error(`leaked: ${THEIRS}`)) });
  for (const id of [runId, second.runId]) expect(written(id)).toMatch(/"reason":"leaked: «secret:\d+»"/);
});
