import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createActor, toPromise } from 'xstate';
import type { ModelReply, ModelRequest } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunResult } from '../../src/machines/contract/run-result.ts';
import { fork } from '../../src/journal/replay/fork.ts';
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

/** An agent whose tool keeps what the user said, in conversations of many users. */
function keeper(options: AgentOptions = {}) {
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  const keep = fakeTool('keep', Array(9).fill('kept'), { inputSchema });
  const complete = async ({ messages }: ModelRequest): Promise<ModelReply> => {
    const last = messages.at(-1);
    return last?.role === 'user' ? calls(['keep', { text: String(last.content) }]) : { content: 'Done.' };
  };
  return { keep, agent: createAgent({ model: { id: 'keeper', complete }, tools: [keep], silent: true, ...options }) };
}

test('a mark that a user writes stands for no secret of another conversation', async () => {
  const { agent, keep } = keeper({ journal: fileJournal(folder) });
  await agent.conversation('ada').run(`My key is ${OURS}.`);
  const { errorHistory } = await agent.conversation('bob').run('My key is «secret:1».', { maxSteps: 1 });
  expect(keep.calls).toEqual([{ text: `My key is ${OURS}.` }]);
  expect(errorHistory).toMatchObject([{ tool: 'keep', message: expect.stringContaining('«secret:1»') }]);
});

test('a mark that a user writes stands for no secret of another run of agent.logic', async () => {
  const { agent, keep } = keeper();
  const done = (task: string): Promise<RunResult | undefined> =>
    toPromise(createActor(agent.logic, { input: { task } }).start());
  expect(await done(`My key is ${OURS}.`)).toMatchObject({ result: 'Done.' });
  await agent.run(`Their key is ${THEIRS}.`);
  const result = await done('My key is «secret:1».');
  expect(result?.errorHistory[0]).toMatchObject({ tool: 'keep', message: expect.stringContaining('«secret:1»') });
  expect(keep.calls).toEqual([{ text: `My key is ${OURS}.` }, { text: `Their key is ${THEIRS}.` }]);
});

test('a queued message has its own secret in the run that it becomes, whoever runs it', async () => {
  const journal = fileJournal(folder);
  const first = await keeper({ journal }).agent.conversation('cy').run(`My key is ${OURS}.`, { park: true });
  expect(first.status).toBe('answered');
  const { agent, keep } = keeper({ journal, defaultPolicy: 'confirm' });
  const parked = await agent.conversation('cy').run(`Or ${OURS}.`, { park: true });
  await keeper({ journal }).agent.queue(parked.runId, `And ${THEIRS}.`);
  await keeper({ journal }).agent.queue(parked.runId, `Not ${OURS}.`);
  await agent.approve(parked.runId, 'c1');
  const later = keeper({ journal, secrets: ['another-secret'], confirm: () => 'allow-once' });
  await later.agent.run('Know another-secret.');
  await later.agent.conversation('cy').resume();
  expect(keep.calls).toEqual([]);
  expect(later.keep.calls.slice(1)).toEqual([
    { text: `Or ${OURS}.` },
    { text: `And ${THEIRS}.` },
    { text: `Not ${OURS}.` },
  ]);
});

test('a run with a journal of its own keeps its secrets there, and is answered there while it is live', async () => {
  const own = fileJournal(join(folder, 'own'));
  const { agent } = keeper({ defaultPolicy: 'confirm', confirm: 'wait', journal: fileJournal(folder) });
  const parked = await agent.run(`My key is ${OURS}.`, { journal: own, park: true });
  const later = keeper({ journal: own, confirm: () => 'allow-once' });
  await later.agent.approve(parked.runId, 'c1');
  expect(await later.agent.resume(parked.runId)).toMatchObject({ status: 'answered' });
  expect(later.keep.calls).toEqual([{ text: `My key is ${OURS}.` }]);
  expect(readdirSync(folder).filter((name) => name.endsWith('.vault'))).toEqual([]);

  const live = agent.run('No key.', { journal: own });
  for await (const { type } of live) if (type === 'approval.requested') break;
  expect(await keeper({ journal: fileJournal(join(folder, 'own')) }).agent.approve(live.runId, 'c1')).toBe(true);
  expect(await live).toMatchObject({ status: 'answered' });
});

/** A run of agent.logic: gives its recording. */
async function logicRun({ logic, recording }: ReturnType<typeof keeper>['agent'], task: string): Promise<string> {
  const result = await toPromise(createActor(logic, { input: { task } }).start());
  return (await recording(result?.runId ?? '')) ?? '';
}

test('a fork has the secrets of a run that this agent made, whatever that belonged to and although it has ended', async () => {
  const { agent, keep } = keeper({ journal: fileJournal(folder) });
  await agent.run(`Their key is ${THEIRS}.`);
  const runs = [
    await agent.conversation('eve').run(`My key is ${OURS}.`),
    await agent.run(`My key is ${OURS}.`),
    await keeper({ journal: fileJournal(folder) }).agent.run('No key.', { runId: 'elsewhere' }),
  ].map(async ({ runId }) => (await agent.recording(runId)) ?? '');
  const texts = [...(await Promise.all(runs)), await logicRun(agent, `My key is ${OURS}.`)];
  const before = keep.calls.length;
  const forked = texts.map((text) => fork(text, agent, { at: 3 }));
  expect((await Promise.all(forked)).map(({ status }) => status)).toEqual(Array(4).fill('answered'));
  const again = fork((await agent.recording(forked[0]?.runId ?? '')) ?? '', agent, { at: 3, input: `Not ${THEIRS}.` });
  expect(await again).toMatchObject({ status: 'answered' });
  const said = keep.calls
    .slice(before)
    .map(({ text }) => String(text))
    .toSorted();
  expect(said).toEqual([...Array(4).fill(`My key is ${OURS}.`), 'No key.']);
  expect(readdirSync(folder).filter((name) => name.endsWith('.vault'))).toEqual([]);
});

test('a fork gets no secret of this process in the place of one of another process', async () => {
  const theirs = keeper({ journal: fileJournal(folder) }).agent;
  const { runId } = await theirs.conversation('di').run(`My key is ${THEIRS}.`);
  const texts = [await logicRun(theirs, `My key is ${THEIRS}.`), (await theirs.recording(runId)) ?? ''];
  for (const text of texts) {
    const { agent, keep } = keeper({ journal: fileJournal(folder) });
    await agent.run(`My key is ${OURS}.`);
    const forked = fork(text, agent, { at: 3 });
    for await (const { type } of forked) if (type === 'tool.finished') await forked.cancel();
    expect(keep.calls).toEqual([{ text: `My key is ${OURS}.` }]);
    expect((await forked).errorHistory).toMatchObject([{ message: expect.stringContaining('«secret:1»') }]);
  }
});

test('the reason of a cancel of a fork is recorded without its secrets, also before it has begun', async () => {
  const { agent } = keeper({ journal: fileJournal(folder), secrets: [THEIRS] });
  const run = agent.run('No key.');
  await run;
  const forked = fork(run.recording(), agent, { at: 3 });
  await forked.cancel(`leaked: ${THEIRS}`);
  expect(await forked).toMatchObject({ status: 'cancelled' });
  expect(written(forked.runId)).toMatch(/"reason":"leaked: «secret:\d+»"/);
});

test('what a fork is asked instead has its own marks', async () => {
  const { agent, keep } = keeper({ journal: fileJournal(folder) });
  await agent.run(`Their key is ${THEIRS}.`);
  const { runId } = await agent.conversation('fay').run(`My key is ${OURS}.`);
  const other = `sk-${'x'.repeat(30)}`;
  const forked = await fork((await agent.recording(runId)) ?? '', agent, { input: `Rather ${other}.` });
  expect([forked.status, keep.calls.at(-1)]).toEqual(['answered', { text: `Rather ${other}.` }]);
});
