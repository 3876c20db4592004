import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { OutputHandler } from '../../src/output/output-handler.ts';
import { createInspector, toResponse } from '../../src/inspector/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { pageFolder } from '../inspector/page-folder.ts';
import { viewer } from '../inspector/viewer.ts';
import { calls } from '../support/replies.ts';

const folder = mkdtempSync(join(tmpdir(), 'signalbox-secrets-'));
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
  rmSync(folder, { recursive: true, force: true });
});

const NAMED = 'tr0ub4dor-and-3';
const LOOKS_LIKE_ONE = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789';
const IN_RESULT = 'ghp_0123456789abcdefghijklmnopqrstuvwxyzAB';
const IN_ERROR = 'AKIAIOSFODNN7EXAMPLE';
const CANARIES = [NAMED, LOOKS_LIKE_ONE, IN_RESULT, IN_ERROR];

/** A run with a secret in every place where one can come from; gives everything that it put out. */
async function runWithCanaries() {
  const shown: unknown[] = [];
  const output: OutputHandler = new Proxy(
    {},
    { get: (_target, name) => (name === 'wants' ? undefined : (...args: unknown[]) => void shown.push(args)) },
  );
  const events: unknown[] = [];
  const login = fakeTool('login', [{ token: IN_RESULT }]);
  const use = fakeTool('use', [{ fine: true }]);
  const fail = fakeTool('fail', [new Error(`key ${IN_ERROR} is not valid`)]);
  // The model can only repeat marks: it is told nothing else. What the agent was given comes first.
  const lastMark = (request: unknown) =>
    JSON.stringify(request)
      .match(/«secret:\d+»/g)
      ?.at(-1) ?? 'no mark';
  const model: ScriptedModel = scriptedModel([
    calls(['login', { password: '«secret:1»' }]),
    ({ messages }) => calls(['use', { token: lastMark(messages) }], ['fail']),
    'The password is «secret:1».',
  ]);
  const inspector = await createInspector({ page: pageFolder() });
  closing.push(() => inspector.close());
  const make = () =>
    createAgent({
      inspect: inspector,
      name: 'keeper',
      instructions: `Never tell ${LOOKS_LIKE_ONE}.`,
      model,
      tools: [login, use, fail],
      secrets: [NAMED],
      output,
      showPrompts: true,
      debug: true,
      onEvent: (event) => events.push(event),
      journal: fileJournal(join(folder, 'runs')),
      trace: join(folder, 'trace.json'),
    });
  const agent = make();
  const run = agent.run(`Log in with ${NAMED}`, { metadata: { note: NAMED } });
  const result = await run;
  return { agent, make, run, result, model, login, use, events, shown, inspector };
}

test('no secret reaches machine, model, journal, events, outputs, traces or error texts; tools and the result get it', async () => {
  const { run, result, model, login, use, events, shown, inspector } = await runWithCanaries();
  expect(result.status).toBe('answered');
  const { frames, step, get, list, lines } = viewer(inspector.url);
  const seen = await frames(run.runId, (frame) => frame.t === 'record' && frame.record.t === 'end');
  const steps = seen.flatMap((frame) => (frame.t === 'step' ? [frame.step.n] : []));

  // Whoever adds an output adds it here.
  const outputs: { readonly [where: string]: string } = {
    model: JSON.stringify(model.requests),
    events: JSON.stringify(events),
    output: JSON.stringify(shown),
    recording: run.recording(),
    journal: readdirSync(join(folder, 'runs'))
      .map((name) => readFileSync(join(folder, 'runs', name), 'utf8'))
      .join(''),
    trace: readFileSync(join(folder, 'trace.json'), 'utf8'),
    transitions: JSON.stringify(run.transitions()),
    state: JSON.stringify(run.state),
    'inspector: sessions': JSON.stringify(await list((frame) => frame.t === 'session')),
    'inspector: lines': await lines(run.runId),
    'inspector: frames': JSON.stringify(seen),
    'inspector: step details': JSON.stringify(await Promise.all(steps.map((n) => step(run.runId, n)))),
    'inspector: recording': await (await get(`/api/sessions/${run.runId}/recording`)).text(),
    'inspector: saved page': await (await get(`/api/sessions/${run.runId}/export`)).text(),
    'stream for apps': await toResponse(run, { fields: ['arguments', 'results', 'thoughts', 'messages'] }).text(),
  };
  for (const [where, text] of Object.entries(outputs)) {
    for (const canary of CANARIES) expect(text.includes(canary), `${canary} in ${where}`).toBe(false);
  }
  for (const where of [
    'model',
    'recording',
    'journal',
    'inspector: lines',
    'inspector: frames',
    'inspector: step details',
    'inspector: saved page',
  ])
    expect(outputs[where]).toContain('«secret:');

  expect(login.calls).toEqual([{ password: NAMED }]);
  expect(use.calls).toEqual([{ token: IN_RESULT }]);
  expect(result.result).toBe(`The password is ${NAMED}.`);
});

test('the recording replays without the secrets', async () => {
  const { run, make } = await runWithCanaries();
  const again = replay(run.recording(), make());
  const result = await again;
  expect(again.transitions()).toEqual(run.transitions());
  expect(result.result).toContain('«secret:');
});

test('a secret is found as JSON and URLs spell it, and a tool gets back what it gave', async () => {
  const secret = 'tr0ub4dor "&" 3\\\n';
  const inJson = JSON.stringify({ password: secret });
  const inUrl = `postgres://ada:${encodeURIComponent(secret)}@db`;
  const look = fakeTool('look', [inJson, new Error(`cannot reach ${inUrl}`)]);
  const use = fakeTool('use');
  const model = scriptedModel([
    calls(['look']),
    calls(['look']),
    calls(['use', { file: '{"password":"«secret:2»"}', url: 'postgres://ada:«secret:3»@db' }]),
    'Done.',
  ]);
  const run = createAgent({ model, tools: [look, use], secrets: [secret], silent: true }).run('Look');
  await run;
  const told = JSON.stringify(model.requests[2]?.messages);
  expect(told).toContain(String.raw`{\\\"password\\\":\\\"«secret:2»\\\"}`);
  expect(told).toContain('postgres://ada:«secret:3»@db');
  expect(run.recording()).not.toContain('tr0ub4dor');
  expect(use.calls).toEqual([{ file: inJson, url: inUrl }]);
});

test.each(['NFC', 'NFD'] as const)('a secret given in %s is found in the other form, too', async (given) => {
  const [secret, other] = [given, given === 'NFC' ? 'NFD' : 'NFC'].map((form) => 'schlüssel-für-zoë'.normalize(form));
  const inUrl = `postgres://ada:${encodeURIComponent(other ?? '')}@db`;
  const look = fakeTool('look', [`password: ${other}`, new Error(`cannot reach ${inUrl}`), 'schlüssel-für-zoé']);
  const use = fakeTool('use');
  const turn = calls(['use', { password: '«secret:2»' }]);
  const model = scriptedModel([calls(['look']), calls(['look']), calls(['look']), turn, 'Done.']);
  const run = createAgent({ model, tools: [look, use], secrets: [secret ?? ''], silent: true }).run('Look');
  await run;
  const told = JSON.stringify(model.requests[3]?.messages);
  expect(told).toContain('password: «secret:2»');
  expect(told).toContain('postgres://ada:«secret:3»@db');
  expect(told).toContain('schlüssel-für-zoé');
  expect(run.recording()).not.toMatch(/f(?:\u00fc|u\u0308|%C3%BC|u%CC%88)r-zo(?!\u00e9)/u);
  expect(use.calls).toEqual([{ password: other }]);
});

test('of a server’s variables those are secrets whose names say so, and an author or a limit is not', async () => {
  const secrets = {
    API_KEY: 'a-real-key',
    OPENAI_APIKEY: 'b-real-key',
    authToken: 'c-real-key',
    AUTHORIZATION: 'Basic d-real-key',
    CREDENTIALS: 'e-real-key',
    DB_PASSWD: 'f-real-key',
    GITHUB_TOKENS: 'g-real-key',
  };
  const plain = {
    GIT_AUTHOR_NAME: 'Ada Lovelace',
    MAX_OUTPUT_TOKENS: '200000',
    TOKENIZER: 'cl100k_base',
    KEYBOARD: 'german',
  };
  const model = scriptedModel(['Done.']);
  const mcpServers = { git: { command: 'no-such-program', env: { ...secrets, ...plain } } };
  await using agent = createAgent({ model, mcpServers, silent: true });
  await agent.run(JSON.stringify([...Object.values(plain), ...Object.values(secrets)]));
  const told = JSON.stringify(model.requests[0]?.messages.at(-1)?.content);
  for (const word of Object.values(plain)) expect(told).toContain(word);
  expect(told).not.toContain('real-key');
});

test('a mark that cannot be resolved never reaches a tool', async () => {
  const look = fakeTool('look');
  const agent = createAgent({
    model: scriptedModel([calls(['look', { with: '«secret:7» and «secret:8»' }]), 'Sorry.']),
    tools: [look],
    silent: true,
  });
  const result = await agent.run('Look');
  expect(look.calls).toEqual([]);
  expect(result.errorHistory).toMatchObject([{ tool: 'look', message: expect.stringContaining('«secret:7»') }]);
});

test('the same secret has the same mark in every run of an agent', async () => {
  const model = scriptedModel(['Noted.', 'Noted again.']);
  const agent = createAgent({ model, secrets: [NAMED], silent: true });
  await agent.run(`It is ${NAMED}.`);
  await agent.run(`As I said: ${NAMED}.`);
  const users = model.requests[1]?.messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  expect(users).toEqual(['It is «secret:1».', 'As I said: «secret:1».']);
  expect(agent.history[0]?.content).toBe(`It is ${NAMED}.`);
});

test('a secret that is a word of an event hides what is said, and not what kind of event it is', async () => {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const made = { tools: [pay], secrets: ['refused', 'approval'], confirm: 'wait', silent: true } as const;
  const agent = createAgent({ ...made, model: scriptedModel([calls(['pay', {}]), 'Done.']) });
  const run = agent.run('Pay.');
  await expect.poll(() => run.pending).toHaveLength(1);
  expect(await run.reject(run.pending[0]?.callId ?? '', 'refused by the bank')).toBe(true);
  expect((await run).success).toBe(true);
  expect(pay.calls).toEqual([]);
  expect(run.recording()).toContain('"type":"approval.refused"');
  expect(run.recording()).not.toContain('refused by the bank');

  const journal = memoryJournal();
  const again = { ...made, journal, model: scriptedModel([calls(['pay', {}]), 'Done.']) };
  const parked = createAgent(again);
  const { runId, status } = await parked.run('Pay.', { park: true });
  expect(status).toBe('waiting');
  const [waiting] = await parked.pending(runId);
  expect(await parked.approve(runId, waiting?.callId ?? '')).toBe(true);
  expect((await parked.resume(runId)).success).toBe(true);
  expect(pay.calls).toHaveLength(1);
});

test('a mark whose secret is lost with its process stands for no secret that comes later', async () => {
  const { secrets: _, ...journal } = memoryJournal();
  const [lost, later] = [`sk-${'l'.repeat(30)}`, `sk-${'n'.repeat(30)}`];
  const tools = [fakeTool('pay', ['paid'], { policy: 'confirm' })];
  const asked = { journal, tools, silent: true, confirm: 'wait' } as const;
  const run = createAgent({ ...asked, model: scriptedModel([calls(['pay'])]) }).run(`Pay with ${lost}`);
  await expect.poll(() => run.pending).toHaveLength(1);
  expect(await run.release()).toBe(true);
  const model = scriptedModel(['Paid.']);
  const resumed = createAgent({ ...asked, model }).resume(run.runId);
  await expect.poll(() => resumed.pending).toHaveLength(1);
  void resumed.steer(`No, with ${later}`);
  await resumed.approve(resumed.pending[0]?.callId ?? '');
  expect(await resumed).toMatchObject({ status: 'answered' });
  expect(JSON.stringify(model.requests[0])).toContain('Pay with «secret:1»');
  expect(JSON.stringify(model.requests[0])).toContain('No, with «secret:2»');
});

test('a secret in a message that is queued in a conversation is whole for the run that it becomes', async () => {
  const key = `sk-${'q'.repeat(30)}`;
  const model = scriptedModel(['Hi.', 'Used.']);
  const talk = createAgent({ model, silent: true }).conversation('c');
  const run = talk.run('Hello');
  expect(await run.queue(`Use ${key}`)).toMatchObject({ delivered: true });
  await expect.poll(async () => (await talk.history).length).toBe(4);
  expect((await talk.history)[2]).toEqual({ role: 'user', content: `Use ${key}` });
  expect(JSON.stringify(model.requests)).not.toContain(key);
});
