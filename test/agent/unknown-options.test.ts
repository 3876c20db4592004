import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import * as signalbox from '../../src/index.ts';
import * as inspector from '../../src/inspector/index.ts';
import * as journal from '../../src/journal/index.ts';
import * as machines from '../../src/machines/index.ts';
import * as mcp from '../../src/mcp/index.ts';
import * as models from '../../src/models/index.ts';
import * as parsing from '../../src/parsing/index.ts';
import * as restate from '../../src/restate/index.ts';
import * as testing from '../../src/testing/index.ts';
import * as security from '../../src/security/index.ts';
import { root } from '../docs/documents.ts';
import { TAKERS, type Taker, untyped, untypedOf } from './option-takers.ts';
import { TEST_TAKERS } from './test-option-takers.ts';

const ALL: readonly (Taker & { readonly name: string })[] = Object.entries({ ...TAKERS, ...TEST_TAKERS }).map(
  ([name, taker]) => ({ name, ...taker }),
);

/** What a call throws, or rejects with. */
async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return null;
  } catch (error) {
    return error;
  }
}

const refused = async ({ call }: Taker, options: unknown): Promise<boolean> =>
  ['unknown-option', 'wrong-option'].includes(String(Reflect.get(Object(await thrownBy(() => call(options))), 'code')));

describe.each(ALL)('$name', (taker) => {
  const { call, takes, slip } = taker;
  const [written, meant] = slip;

  test('refuses a name that it does not know, with the one that was meant and where to read', async () => {
    const error = await thrownBy(() => call({ [written]: 1 }));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: 'unknown-option', message: expect.stringContaining(`'${written}'`) });
    const { 1: said, 2: page = '' } = /Did you mean '(\w+)'\?.* See (docs\/[\w-]+\.md)\.$/.exec(String(error)) ?? [];
    expect(said).toBe(meant);
    expect(existsSync(`${root}${page}`)).toBe(true);
  });

  test('refuses one that is inherited from other options', async () => {
    expect(await refused(taker, Object.create({ [written]: 1 }))).toBe(true);
  });

  test.each([[null], [[]], ['text'], [5]])('refuses %j in the place of options', async (options) => {
    const error = await thrownBy(() => call(options));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toMatch(/must be|takes an object/);
  });

  test.each(Object.keys(takes))('takes %s', async (name) => {
    expect(await refused(taker, { [name]: takes[name] })).toBe(false);
  });

  test('takes all of them at once, by symbols too, from an object without a prototype or with a class', async () => {
    class Options {
      [written](): number {
        return 1;
      }
    }
    expect(await refused(taker, { ...takes, [Symbol('mine')]: 1 })).toBe(false);
    expect(await refused(taker, Object.assign(Object.create(null), takes))).toBe(false);
    expect(await refused(taker, Object.assign(new Options(), takes))).toBe(false);
  });

  test('takes what is undefined as not given', async () => {
    const none = Object.fromEntries(Object.keys(takes).map((name) => [name, undefined]));
    const needed = taker.name === 'createMcpConnection' ? {} : none;
    expect(await refused(taker, { [written]: undefined })).toBe(false);
    // Not as many runs as it makes where nothing says how many.
    const [given, others] =
      taker.name === 'simulate'
        ? [
            { ...none, budgetMs: 1 },
            { ...none, seeds: [1] },
          ]
        : [needed, {}];
    expect(await refused(taker, given)).toBe(false);
    expect(await refused(taker, others)).toBe(false);
  });
});

test('every function that the package exports is tried here, or takes no object of options', () => {
  const withoutOptions = new Set(
    (
      'silentOutput policyFromAnnotations isSafeShellArg validatePath transitions observeRun recoverArguments ' +
      'checkArguments parseToolCallArguments isJsonObject recoverJson assertEndsWith assertOutput assertTransitions assertVisited ' +
      'forbidLiveModels playBack liveJournal restateJournal'
    ).split(' '),
  );
  const exported = [signalbox, inspector, journal, machines, mcp, models, parsing, restate, security, testing].flatMap(
    (index) =>
      Object.entries(index).flatMap(([name, value]) => (typeof value === 'function' && !isError(value) ? [name] : [])),
  );
  expect(exported.length).toBeGreaterThan(30);
  const tried = new Set(ALL.map(({ name }) => name));
  expect(exported.filter((name) => !tried.has(name) && !withoutOptions.has(name))).toEqual([]);
});

function isError(value: object): boolean {
  return Object.create(Object(Reflect.get(value, 'prototype'))) instanceof Error;
}

describe('what stands within options', () => {
  test.each([
    ['timeouts', 'toolMS', 'toolMs'],
    ['retry', 'attempts', 'maxAttempts'],
    ['budget', 'maxToken', 'maxTokens'],
    ['limits', 'resultByte', 'resultBytes'],
  ])('%s of createAgent refuses %s', (option, written, meant) => {
    expect(() => untyped(signalbox.createAgent, { [option]: { [written]: 1 } })).toThrow(
      `there is no option '${option}.${written}'. Did you mean '${meant}'?`,
    );
  });

  test.each<[string, () => unknown, RegExp]>([
    [
      'limits of a connection',
      () => untyped(mcp.createMcpConnection, 'files', { command: 'x' }, { limits: { maxFailure: 1 } }),
      /limits.*'maxFailures'\?/,
    ],
    [
      'timeouts of a registry',
      () => untyped(signalbox.createToolRegistry, { timeouts: { toolMS: 1 } }),
      /'timeouts.toolMS'.*'toolMs'\?/,
    ],
    ['limits of a reader', () => untyped(parsing.parseReply, '', { limits: { maxChar: 1 } }), /limits.*'maxChars'\?/],
    [
      'slots of onError',
      () => signalbox.skill({ name: 'files', onError: Object({ invalidArg: [] }) }),
      /Skill 'files'.*'invalidArgs'\?/,
    ],
  ])('%s are checked, too', (_what, call, message) => {
    expect(call).toThrow(message);
  });

  test('values of yours are never looked into', async () => {
    const own = { polcy: 1, maxStep: 1 };
    const schema = z.object({ polcy: z.string(), maxStep: z.number() });
    const made = signalbox.tool({ name: 'look', description: 'Looks.', inputSchema: schema, execute: () => own });
    const agent = signalbox.createAgent({ model: testing.scriptedModel(['Done.']), tools: [made], silent: true });
    const { result } = await agent.run('Go', { metadata: own, context: own });
    expect(result).toBe('Done.');
  });
});

test('recoverJson never throws: an option that it does not know is an issue', () => {
  const read = untyped(parsing.recoverJson, '{"a": 1}', { shema: {} });
  expect(read).toMatchObject({ ok: false, issues: [{ message: expect.stringContaining("Did you mean 'schema'?") }] });
  expect(parsing.recoverJson('{"a": 1}', {})).toMatchObject({ ok: true });
});

test('the lists of files and databases refuse what no query has', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lists-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const store of [journal.fileJournal(folder), journal.sqliteJournal(join(folder, 'runs.sqlite'))]) {
    const list = (query: object) => store.list?.(query);
    await expect(list({ agnet: 'clerk' })).rejects.toThrow(/'agnet'.*'agent'\?/);
    await expect(list({ agent: 'clerk' })).resolves.toEqual([]);
  }
});

test('requests to MCP servers refuse what they do not take', async () => {
  await using files = mcp.createMcpConnection('files', { command: 'never' });
  await expect(untyped(files.listTools, { refesh: true })).rejects.toThrow(/'refresh'\?/);
  await expect(untyped(files.readResource, 'file:///a', { timeout: 1 })).rejects.toThrow(/'timeoutMs'\?/);
});

test('what only createAgent takes, configure refuses and says so', () => {
  const agent = signalbox.createAgent({ silent: true });
  expect(() => untypedOf(agent, 'configure', { maxSteps: 3 })).toThrow(/configure.*createAgent.*'maxSteps'/);
  expect(agent.options.maxSteps).toBe(20);
});

test('the names that are known are all listed where they are few and none is near', () => {
  expect(() => untyped(signalbox.recover.retry, { often: true })).toThrow(
    "there is no option 'often'. There are: maxAttempts, backoff, whenUnknown.",
  );
  expect(() => untyped(signalbox.createAgent, { colour: 'red' })).toThrow(/no option 'colour'\. See/);
  expect(readFileSync(`${root}docs/errors.md`, 'utf8')).toContain('`unknown-option`');
});

test.each<[string, () => unknown, RegExp]>([
  [
    'a step',
    () => untyped(signalbox.recover.retry, { often: true, never: true, backof: 1 }),
    /no option 'often'\. there is no option 'never'\. there is no option 'backof'\. Did you mean 'backoff'\? There are: /,
  ],
  [
    'an agent',
    () => untyped(signalbox.createAgent, { timeouts: { agents: 1, colour: 2 } }),
    /no option 'timeouts.agents'\. there is no option 'timeouts.colour'\. There are: /,
  ],
])('several wrong names of %s list the known ones once', (_what, call, message) => {
  expect(call).toThrow(message);
  expect(call).not.toThrow(/There are:[^]*There are:/);
});

test('wrong names that are all near known ones list none', () => {
  const call = () => untyped(signalbox.recover.retry, { backof: 1, maxAttempt: 2 });
  expect(call).toThrow(/Did you mean 'backoff'\?.*Did you mean 'maxAttempts'\?/);
  expect(call).not.toThrow(/There are:/);
});

test.each([
  ['imstruction', 'instructions'],
  ['prompt', 'systemPrompt'],
  ['MAXSTEPS', 'maxSteps'],
  ['slient', 'silent'],
  ['agents', 'children'],
  ['subAgents', 'children'],
  ['maxTurns', 'maxSteps'],
  ['outputType', 'outputSchema'],
  ['checkpointer', 'journal'],
])('%s means %s', (written, meant) => {
  expect(() => untyped(signalbox.createAgent, { [written]: 1 })).toThrow(`Did you mean '${meant}'?`);
});

test('a word of other libraries means nothing where there is no such option', () => {
  const error = "there is no option 'timeouts.agents'. There are: connectMs";
  expect(() => untyped(signalbox.createAgent, { timeouts: { agents: 1 } })).toThrow(error);
});

test.each([['format'], ['xy'], ['elsewhere']])('%s means nothing that a fork takes', (written) => {
  const error = /There are: at, outcome/;
  expect(() => untyped(journal.fork, '', {}, { [written]: 1 })).toThrow(error);
});

test('what somebody has added to every object is no option', () => {
  onTestFinished(() => void Reflect.deleteProperty(Object.prototype, 'added'));
  // oxlint-disable-next-line eslint/no-extend-native -- that is what is tested
  Object.defineProperty(Object.prototype, 'added', { value: 1, enumerable: true, writable: true, configurable: true });
  expect(() => journal.memoryJournal({ maxRuns: 1 })).not.toThrow();
  expect(() => signalbox.recover.retry({ maxAttempts: 1 })).not.toThrow();
});
