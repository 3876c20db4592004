import { expect, test } from 'vitest';
import { createAgent, recover, skill, tool } from '../../src/index.ts';
import { createInspector } from '../../src/inspector/index.ts';
import { fileJournal, fork, memoryJournal, replay, sqliteJournal } from '../../src/journal/index.ts';
import { chatModel } from '../../src/models/index.ts';
import { checkVerdict, verdictsFor } from '../../src/recovery/verdicts.ts';
import { permissionStore } from '../../src/security/index.ts';
import { openTelemetry } from '../../src/telemetry/index.ts';
import { fakeTool, hostileModel, scriptedModel } from '../../src/testing/index.ts';
import { calls } from '../support/replies.ts';

/** An agent without types, as JavaScript has it, and a run of it whose call waits. */
async function waiting() {
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm' });
  const made = createAgent({
    model: scriptedModel([calls(['pay']), 'Done.']),
    tools: [pay],
    silent: true,
    confirm: 'wait',
    journal: memoryJournal(),
  });
  const call = (of: object, method: string, ...args: readonly unknown[]): unknown =>
    Reflect.apply(Reflect.get(of, method), of, args);
  const run = made.run('Pay.');
  for await (const { type } of run) if (type === 'approval.requested') break;
  return { agent: made, run, pay, call };
}

const cycle: { self?: unknown } = {};
cycle.self = cycle;

test.each<[string, unknown]>([
  ['args', 'all'],
  ['args', null],
  ['args', ['all']],
  ['args', { euros: 5n }],
  ['args', { euros: () => 5 }],
  ['args', cycle],
  ['always', 'false'],
  ['reason', 5],
])('an approval with a wrong %s is refused where it is given, and the call waits on: %o', async (name, value) => {
  const { agent, run, pay, call } = await waiting();
  const wrong = { code: 'wrong-option', message: expect.stringContaining(`option '${name}' must be`) };
  expect(() => call(run, 'approve', 'c1', { [name]: value })).toThrow(expect.objectContaining(wrong));
  expect(() => call(agent, 'approve', run.runId, 'c1', { [name]: value })).toThrow(expect.objectContaining(wrong));
  expect(run.pending).toHaveLength(1);
  await run.approve('c1');
  expect(await run).toMatchObject({ status: 'answered' });
  expect(pay.calls).toEqual([{}]);
});

const untyped = (fn: (...args: never[]) => unknown, ...args: readonly unknown[]): unknown =>
  Reflect.apply(fn, undefined, args);
const look = { name: 'look', description: 'Looks.', execute: () => 1 };
const again = createAgent({ name: 'again' });
const verdicts = verdictsFor(
  {
    kind: 'escalation',
    source: 'look',
    reason: 'It burns',
    severity: 'high',
    originalError: null,
    attempts: 1,
  } as never,
  { model: () => null, place: () => null },
);
const repairer = createAgent({ name: 'repairer', tools: [tool({ ...look, onError: {} })] });

test.each<[string, () => unknown]>([
  ['must be 1 to 64', () => tool({ ...look, name: 'a b' })],
  ['takes an object', () => untyped(tool, 'look')],
  ["'make_plan' is reserved", () => tool({ ...look, name: 'make_plan' })],
  ['timeoutMs must be', () => tool({ ...look, timeoutMs: -1 })],
  ['inputSchema must be', () => untyped(tool, { ...look, inputSchema: 5 })],
  ['not a valid JSON Schema', () => tool({ ...look, inputSchema: { type: 'objekt' } })],
  ['onError must be an object', () => untyped(tool, { ...look, onError: 5 })],
  ['is not a step', () => untyped(tool, { ...look, onError: { executionError: [5] } })],
  ['name must be a text', () => skill({ name: '' })],
  ['tools must be a list', () => untyped(skill, { name: 'a', tools: [5] })],
  ['recover.retry: maxAttempts', () => recover.retry({ maxAttempts: 0 })],
  ["named 'look' is registered already", () => createAgent({ tools: [tool(look), tool(look)] })],
  [
    'would both be sent',
    () => createAgent({ tools: [tool(look), tool({ ...look, name: 'l.k' }), tool({ ...look, name: 'l_k' })] }),
  ],
  ["two agents are named 'again'", () => createAgent({ children: [again, again] })],
  ["needs 'command'", () => untyped(createAgent, { mcpServers: { files: {} } })],
  ["'nonsense' names no known server", () => createAgent({ model: 'nonsense' })],
  ["'ollama:' names no model", () => createAgent({ model: 'ollama:' })],
  ["'claude:' names no model", () => createAgent({ model: ['openai', 'claude: '] })],
  ['the model must be its name, and is empty', () => chatModel({ preset: 'ollama', model: '' })],
  ["'nonsense' is unknown", () => untyped(chatModel, { preset: 'nonsense' })],
  ['is not a server address', () => chatModel({ baseURL: 'here' })],
  ['must be a text that is not blank', () => again.run(' ')],
  ['neither text nor an image', () => again.run([{ type: 'text', text: ' ' }])],
  ["of type 'text'", () => untyped(again.run, [{ type: 'text' }])],
  ['the id must be a text', () => again.conversation('')],
  ["option 'metadata' must be", () => untyped(again.run, 'Look.', { metadata: 5 })],
  ["option 'maxSteps' must be", () => again.run('Look.', { maxSteps: 0 })],
  ["option 'park' needs a journal", () => again.run('Look.', { park: true })],
  ['needs a journal', () => again.wake()],
  ['durability must be', () => untyped(sqliteJournal, 'runs.db', { durability: 'none' })],
  ['maxRuns must be', () => fileJournal('runs', { maxRuns: -1 })],
  ['cannot name a file', () => untyped(fileJournal('runs').read ?? String, '../elsewhere')],
  ['must be a text that is not empty', () => permissionStore({ path: '' })],
  ["option 'token' must have", () => createInspector({ token: 'short' })],
  ["option 'semconv' must be", () => untyped(openTelemetry, { semconv: 'v0' })],
  ['is not known here', () => verdicts.reroute('nowhere')],
  ['severity must be', () => verdicts.escalate('It burns', 'dreadful')],
  ['text must be text', () => untyped(checkVerdict, { kind: 'partialResult', text: 5 })],
  ["no mistake 'nonsense'", () => untyped(hostileModel, { mistakes: ['nonsense'] })],
  [
    'repair its own mistakes',
    () => repairer.tools.register(tool({ ...look, name: 'other', onError: { executionError: recover.fix(repairer) } })),
  ],
])('a TypeError has a code: %s', async (message, call) => {
  const error = await (async () => call())().then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TypeError);
  expect(error).toMatchObject({ code: 'wrong-option', message: expect.stringContaining(message) });
});

test('the reason of a cancel and of a denial is a text', async () => {
  const { agent, run, call } = await waiting();
  const wrong = expect.objectContaining({ code: 'wrong-option' });
  expect(() => call(run, 'cancel', new Error('enough'))).toThrow(wrong);
  expect(() => call(run, 'reject', 'c1', { no: 1 })).toThrow(wrong);
  expect(() => call(agent, 'cancel', run.runId, new Error('enough'))).toThrow(wrong);
  expect(() => call(agent, 'reject', run.runId, 'c1', 5)).toThrow(wrong);
  await run.cancel();
});

test('a close that says wrongly what becomes of runs ends none', async () => {
  const { agent, run, call } = await waiting();
  await expect(call(agent, 'close', { runs: 'relese' })).rejects.toMatchObject({ code: 'wrong-option' });
  await expect(call(agent, 'close', { graceMs: 'long' })).rejects.toMatchObject({ code: 'wrong-option' });
  expect(run.pending).toHaveLength(1);
  await agent.close({ runs: 'release' });
  expect(await run).toMatchObject({ status: 'waiting', reason: 'released' });
});

test('what is no signal, journal or number is refused by name, and the agent is free', async () => {
  const { agent, run, call } = await waiting();
  await run.approve('c1');
  await run;
  const wrong = (name: string): unknown =>
    expect.objectContaining({ code: 'wrong-option', message: expect.stringContaining(`'${name}' must be`) });
  for (const signal of [new AbortController(), null, 'now']) {
    expect(() => call(agent, 'run', 'Pay.', { signal })).toThrow(wrong('signal'));
    expect(() => call(agent, 'resume', run.runId, { signal })).toThrow(wrong('signal'));
    expect(() => call({ fork }, 'fork', run.recording(), agent, { at: 1, signal })).toThrow(wrong('signal'));
  }
  expect(() => call(agent, 'run', 'Pay.', { journal: 'runs' })).toThrow(wrong('journal'));
  for (const [name, value] of Object.entries({ trace: 3, inspect: 'yes', park: 'yes' })) {
    expect(() => call(agent, 'run', 'Pay.', { [name]: value })).toThrow(wrong(name));
    expect(() => call(agent, 'resume', run.runId, { [name]: value })).toThrow(wrong(name));
  }
  await expect(call(agent, 'resumeOrphans', { limit: '5' })).rejects.toEqual(wrong('limit'));
  await expect(call(agent, 'resumeOrphans', { olderThan: '5 min' })).rejects.toEqual(wrong('olderThan'));
  expect(await agent.run('Again.')).toMatchObject({ reason: 'llm-error' });
});

test('what a store has read of a run, and nothing at all, are told from the text of a recording', async () => {
  const { agent, run, call } = await waiting();
  await run.cancel();
  await run;
  const missing = { code: 'bad-recording', message: expect.stringContaining('agent.recording(runId)') };
  for (const given of [{ head: {}, lines: [] }, null, undefined, 5]) {
    expect(() => call({ replay }, 'replay', given, agent)).toThrow(expect.objectContaining(missing));
    expect(() => call({ fork }, 'fork', given, agent, { at: 1 })).toThrow(expect.objectContaining(missing));
  }
  expect(await replay((await agent.recording(run.runId)) ?? '', agent)).toMatchObject({ status: 'cancelled' });
});
