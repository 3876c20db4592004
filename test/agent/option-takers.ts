import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metrics, trace } from '@opentelemetry/api';
import { createActor } from 'xstate';
import * as signalbox from '../../src/index.ts';
import * as inspector from '../../src/inspector/index.ts';
import * as journal from '../../src/journal/index.ts';
import { migratePostgres, postgresJournal } from '../../src/journal/postgres/index.ts';
import * as mcp from '../../src/mcp/index.ts';
import * as models from '../../src/models/index.ts';
import { restateAgent, restateClient } from '../../src/restate/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { openTelemetry } from '../../src/telemetry/index.ts';
import * as security from '../../src/security/index.ts';

const { createAgent, recover, tool } = signalbox;

/** Something that takes an object of options: a call of it, options that it takes, and a slip with what was meant. */
export interface Taker {
  readonly call: (options: unknown) => unknown;
  readonly takes: Readonly<Record<string, unknown>>;
  readonly slip: readonly [written: string, meant: string];
}

/** Calls a function as JavaScript does: nobody checks types. */
export function untyped(fn: (...args: never[]) => unknown, ...args: readonly unknown[]): unknown {
  return Reflect.apply(fn, undefined, args);
}

/** Calls a method as JavaScript does. */
export function untypedOf(of: object, method: string, ...args: readonly unknown[]): unknown {
  const fn: unknown = Reflect.get(of, method);
  if (typeof fn !== 'function') throw new Error(`There is no method ${method}.`);
  return Reflect.apply(fn, of, args);
}

const model = () => scriptedModel(['Done.']);
const agent = () => createAgent({ model: model(), silent: true });
const done = { name: 'look', description: 'Looks.', execute: () => 1 };
const signal = new AbortController().signal;
const recording = await recordingOf();
const languageModel = { specificationVersion: 'v4', provider: 'p', modelId: 'm', doGenerate() {}, doStream() {} };
const nothing = (): undefined => undefined;

/** Options with what is needed beside them; what is no object is given as it is. */
export function given(options: unknown, needed: object): unknown {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return options;
  const missing = Object.entries(needed).filter(([name]) => Reflect.get(options, name) === undefined);
  return Object.setPrototypeOf({ ...options, ...Object.fromEntries(missing) }, Object.getPrototypeOf(options));
}

async function recordingOf(): Promise<string> {
  const run = agent().run('Go');
  await run;
  return run.recording();
}

/** What the library's parts take, but for those for tests. */
export const TAKERS: Readonly<Record<string, Taker>> = {
  createAgent: {
    call: (options) => untyped(createAgent, options),
    takes: { name: 'clerk', maxSteps: 3, timeouts: { toolMs: 5 }, silent: true },
    slip: ['maxStep', 'maxSteps'],
  },
  'agent.run': {
    call: (options) => untypedOf(agent(), 'run', 'Go', options),
    takes: {
      signal,
      maxSteps: 3,
      context: { maxStep: 1 },
      metadata: { maxStep: 1 },
      runId: 'a-run',
      inspect: false,
      journal: journal.memoryJournal(),
      trace: false,
      park: false,
    },
    slip: ['maxstep', 'maxSteps'],
  },
  'agent.resume': {
    call: (options) => untypedOf(agent(), 'resume', 'no-run', options),
    takes: { context: 1, signal, trace: false, inspect: false, park: false, migrate: (old: unknown) => old },
    slip: ['contxt', 'context'],
  },
  'agent.resumeOrphans': {
    call: (options) => untypedOf(agent(), 'resumeOrphans', options),
    takes: { olderThan: 5, limit: 1, context: { limmit: 1 }, contextFor: () => 1 },
    slip: ['limmit', 'limit'],
  },
  'agent.conversation': {
    call: (options) => untypedOf(agent(), 'conversation', 'c', options),
    takes: { owner: 'ada' },
    slip: ['ownr', 'owner'],
  },
  'conversation.resume': {
    call: (options) => untyped(agent().conversation('c').resume, options),
    takes: { context: 1, park: false },
    slip: ['contxt', 'context'],
  },
  'agent.approve': {
    call: (options) => untypedOf(agent(), 'approve', 'no-run', 'no-call', options),
    takes: { always: true, args: { alway: 1 }, reason: 'fine' },
    slip: ['alway', 'always'],
  },
  'run.approve': {
    call: (options) => untyped(agent().run('Go').approve, 'no-call', options),
    takes: { always: true, args: { alway: 1 }, reason: 'fine' },
    slip: ['alway', 'always'],
  },
  'agent.listTools': {
    call: (options) => untypedOf(agent(), 'listTools', options),
    takes: { verbose: true },
    slip: ['verbos', 'verbose'],
  },
  'agent.wake': {
    call: (options) => untypedOf(createAgent({ silent: true, journal: journal.memoryJournal() }), 'wake', options),
    takes: { due: new Date(0), limit: 1, context: 1, contextFor: () => 1 },
    slip: ['limt', 'limit'],
  },
  'agent.close': {
    call: (options) => untypedOf(agent(), 'close', options),
    takes: { graceMs: 5, runs: 'cancel' },
    slip: ['grace', 'graceMs'],
  },
  'agent.configure': {
    call: (options) => untypedOf(agent(), 'configure', options),
    takes: {
      output: {},
      confirm: 'wait',
      permissions: { isAlwaysAllowed: () => false, add: nothing },
      defaultPolicy: 'deny',
      model: model(),
      instructions: '',
    },
    slip: ['instruction', 'instructions'],
  },
  'agent.logic': {
    call: (options) => {
      const input = given(options, { task: 'Go' });
      const { status, error } = Reflect.apply(createActor, undefined, [agent().logic, { input }]).getSnapshot();
      if (status === 'error') throw error;
    },
    takes: { task: 'Go', history: [], context: { taks: 1 }, onStop: 'cancel' },
    slip: ['taks', 'task'],
  },
  createToolRegistry: {
    call: (options) => untyped(signalbox.createToolRegistry, options),
    takes: {
      confirm: () => 'deny',
      permissions: { isAlwaysAllowed: () => false, add: nothing },
      defaultPolicy: 'deny',
      timeouts: { toolMs: 5 },
    },
    slip: ['defaultPolcy', 'defaultPolicy'],
  },
  tool: {
    call: (options) => untyped(tool, given(options, done)),
    takes: {
      ...done,
      inputSchema: { type: 'object', polcy: 1, properties: { polcy: { type: 'string' } } },
      jsonSchema: { type: 'object' },
      policy: 'confirm',
      needsApproval: () => true,
      effects: 'none',
      atomic: true,
      polling: true,
      enabled: true,
      timeoutMs: 5,
      validateArgs: nothing,
      onError: {},
    },
    slip: ['polcy', 'policy'],
  },
  skill: {
    call: (options) => untyped(signalbox.skill, given(options, { name: 'files' })),
    takes: { name: 'files', instructions: 'Look.', tools: [tool(done)], onError: {} },
    slip: ['instruction', 'instructions'],
  },
  consoleOutput: {
    call: (options) => untyped(signalbox.consoleOutput, options),
    takes: {
      stream: { write: nothing },
      color: true,
      showPrompts: true,
      showStats: true,
      debug: true,
      answer: true,
    },
    slip: ['colour', 'color'],
  },
  'recover.fix': {
    call: (options) => untyped(recover.fix, (raw: string) => raw, options),
    takes: { retries: 2 },
    slip: ['retrys', 'retries'],
  },
  'recover.retry': {
    call: (options) => untyped(recover.retry, options),
    takes: { maxAttempts: 2, backoff: recover.constant(5), whenUnknown: true },
    slip: ['attempts', 'maxAttempts'],
  },
  'recover.exponential': {
    call: (options) => untyped(recover.exponential, options),
    takes: { baseMs: 1, factor: 2, maxMs: 3, jitter: 0 },
    slip: ['base', 'baseMs'],
  },
  memoryJournal: {
    call: (options) => untyped(journal.memoryJournal, options),
    takes: { maxRuns: 5 },
    slip: ['maxRun', 'maxRuns'],
  },
  postgresJournal: {
    call: (options) => untyped(postgresJournal, 'postgres://localhost', options),
    takes: { schema: 'runs', migrate: true, leaseMs: 5000, patienceMs: 5000 },
    slip: ['shema', 'schema'],
  },
  migratePostgres: {
    call: (options) =>
      untyped(
        migratePostgres,
        { query: () => Promise.reject(Object.assign(new Error('no'), { code: '42501', severity: 'ERROR' })) },
        options,
      ),
    takes: { schema: 'runs', patienceMs: 5000 },
    slip: ['shema', 'schema'],
  },
  assertJournalConformance: {
    call: (options) => untyped(journal.assertJournalConformance, journal.memoryJournal, options),
    takes: { writers: 1, timeoutMs: 5000 },
    slip: ['writer', 'writers'],
  },
  fileJournal: {
    call: (options) => untyped(journal.fileJournal, join(tmpdir(), 'never-made'), options),
    takes: { durability: 'power', keep: 'all', maxRuns: 5, maxAgeDays: 5 },
    slip: ['maxAge', 'maxAgeDays'],
  },
  sqliteJournal: {
    call: (options) => untyped(journal.sqliteJournal, join(tmpdir(), 'never-made.sqlite'), options),
    takes: { durability: 'power' },
    slip: ['durabilty', 'durability'],
  },
  'list of a memory journal': {
    call: (options) => untyped(journal.memoryJournal().list ?? nothing, options),
    takes: {
      agent: 'clerk',
      state: 'ended',
      status: 'answered',
      reason: 'answer',
      tool: 'look',
      errorCode: 'x',
      metadata: { agnet: 1 },
      limit: 1,
      after: { at: '', runId: '' },
    },
    slip: ['agnet', 'agent'],
  },
  assertEngineConformance: {
    call: (options) => untyped(journal.assertEngineConformance, { run: nothing, send: nothing }, options),
    takes: { timeoutMs: 5 },
    slip: ['timeout', 'timeoutMs'],
  },
  restateAgent: {
    call: (options) => untyped(restateAgent, agent(), options),
    takes: {
      name: 'clerk',
      context: nothing,
      suspendAfterMs: 5,
      abortAfterMs: 5,
      keepMs: 5,
      retry: { maxAttempts: 3 },
    },
    slip: ['suspendAfter', 'suspendAfterMs'],
  },
  restateClient: {
    call: (options) => untyped(restateClient, given(options, { url: 'http://localhost:1', name: 'clerk' })),
    takes: { url: 'http://localhost:2', name: 'other', headers: { authorization: 'x' } },
    slip: ['header', 'headers'],
  },
  replay: {
    call: (options) => untyped(journal.replay, recording, agent(), given(options, { then: model() })),
    takes: { allow: ['prompt'], until: 1, then: model() },
    slip: ['untill', 'until'],
  },
  fork: {
    call: (options) => untyped(journal.fork, recording, agent(), given(options, { at: 1 })),
    takes: {
      at: 1,
      input: 'Other',
      then: 'live',
      missing: 'live',
      runId: 'other',
      context: { imput: 1 },
      metadata: { imput: 1 },
      signal,
    },
    slip: ['imput', 'input'],
  },
  fromAiSdk: {
    call: (options) => untyped(models.fromAiSdk, languageModel, options),
    takes: { images: true, settings: { Images: 1 } },
    slip: ['image', 'images'],
  },
  chatModel: {
    call: (options) => untyped(models.chatModel, options),
    takes: {
      preset: 'ollama',
      baseURL: 'http://127.0.0.1:9/v1',
      model: 'm',
      apiKey: 'k',
      headers: { baseUrl: 'x' },
      fetch,
      transport: 'openai',
      images: true,
      body: { baseUrl: 1 },
      sendReasoning: true,
      connectMs: 5,
      responseMs: 5,
    },
    slip: ['baseUrl', 'baseURL'],
  },
  createMcpConnection: {
    call: (options) => untyped(mcp.createMcpConnection, 'files', { command: 'never' }, options),
    takes: {
      clock: { setTimeout, clearTimeout },
      seed: 1,
      limits: { maxFailures: 1 },
      patienceMs: 5,
      env: { sed: 'x' },
      dial: nothing,
      roots: () => [],
      elicit: nothing,
      sample: nothing,
    },
    slip: ['sed', 'seed'],
  },
  terminalElicit: {
    call: (options) => untyped(mcp.terminalElicit, options),
    takes: { input: process.stdin, output: process.stderr, onInterrupt: nothing },
    slip: ['onInterupt', 'onInterrupt'],
  },
  oauth: {
    call: (options) => untyped(mcp.oauth, options),
    takes: { scopes: ['read'], clientId: 'me', issuer: 'https://auth.example.com', identity: 'ann' },
    slip: ['scope', 'scopes'],
  },
  clientCredentials: {
    call: (options) => untyped(mcp.clientCredentials, options),
    takes: { clientId: 'me', clientSecret: 'a-secret', scopes: ['read'] },
    slip: ['clientSecrets', 'clientSecret'],
  },
  fileTokenStore: {
    call: (options) => untyped(mcp.fileTokenStore, options),
    takes: { path: join(tmpdir(), 'tokens.json') },
    slip: ['pth', 'path'],
  },
  openTelemetry: {
    call: (options) => untyped(openTelemetry, options),
    takes: { content: true, tracerProvider: trace, meterProvider: metrics },
    slip: ['contents', 'content'],
  },
  createInspector: {
    call: async (options) => (await Reflect.apply(inspector.createInspector, undefined, [options])).close(),
    takes: {
      port: 0,
      allowedHosts: ['a.example'],
      token: 'at-least-16-characters',
      open: false,
      keep: 5,
      keepAlive: false,
    },
    slip: ['prot', 'port'],
  },
  statelyOutput: {
    call: async (options) => untyped(inspector.statelyOutput, options),
    takes: { to: { adapter: { send: nothing } } },
    slip: ['ulr', 'url'],
  },
  toResponse: {
    call: (options) => untyped(inspector.toResponse, agent().run('Go'), options),
    takes: { lastEventId: '1', headers: { field: 'x' }, events: ['answer'], fields: ['thoughts'] },
    slip: ['field', 'fields'],
  },
  permissionStore: {
    call: (options) => untyped(security.permissionStore, options),
    takes: { path: join(tmpdir(), 'never-made.json'), agent: 'clerk', onWarning: nothing },
    slip: ['onWarn', 'onWarning'],
  },
  terminalConfirm: {
    call: (options) => untyped(security.terminalConfirm, options),
    takes: { input: process.stdin, output: process.stderr, onInterrupt: nothing },
    slip: ['ouput', 'output'],
  },
};
