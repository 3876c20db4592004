import { type AgentOptions, createAgent } from '../../src/index.ts';
import * as parsing from '../../src/parsing/index.ts';
import CoverageReporter from '../../src/testing/coverage/index.ts';
import * as testing from '../../src/testing/index.ts';
import { type Taker, given, untyped } from './option-takers.ts';

const { scriptedModel } = testing;
const small = (options: AgentOptions = {}) =>
  createAgent({ ...options, model: scriptedModel(['Done.']), silent: true, maxSteps: 1 });
const nothing = (): undefined => undefined;
const withTool = () => small({ tools: [testing.fakeTool('taks', [1])] });
const EXPLORED = { maxPaths: 1, maxDepth: 3 };

const exploring = {
  task: 'Go',
  input: undefined,
  maxSteps: 1,
  maxPaths: 1,
  maxSeconds: 5,
  onProgress: nothing,
  maxViolations: 1,
  maxDepth: 3,
  seed: 1,
  distinguish: () => null,
  outcomes: {},
  events: () => [],
  arguments: { taks: {} },
  terminates: false,
};

/** What the parts for tests take, and the readers of replies. */
export const TEST_TAKERS: Readonly<Record<string, Taker>> = {
  scriptedModel: {
    call: (options) => untyped(scriptedModel, ['Done.'], options),
    takes: { toolCalling: 'native' },
    slip: ['toolcalling', 'toolCalling'],
  },
  hostileModel: {
    call: (options) => untyped(testing.hostileModel, given(options, { seed: 1 })),
    takes: {
      seed: 1,
      replies: ['Done.'],
      model: scriptedModel(['Done.']),
      mistakes: [],
      rate: 0,
      toolCalling: 'json',
    },
    slip: ['mistake', 'mistakes'],
  },
  simulate: {
    call: (options) => untyped(testing.simulate, small, given(options, { seeds: [1] })),
    takes: {
      task: 'Go',
      seeds: [1],
      model: ['Done.'],
      begin: nothing,
      faults: { 'model.busy': 0 },
      budgetMs: 5,
      maxFailures: 1,
      onProgress: nothing,
      check: nothing,
      always: nothing,
    },
    slip: ['fault', 'faults'],
  },
  fakeTool: {
    call: (options) => untyped(testing.fakeTool, 'look', [1], options),
    takes: {
      description: 'Looks.',
      policy: 'deny',
      effects: 'none',
      atomic: true,
      polling: true,
      enabled: false,
      timeoutMs: 5,
      inputSchema: { type: 'object', effect: 1 },
      onError: {},
    },
    slip: ['effect', 'effects'],
  },
  useRecording: {
    call: (options) => untyped(testing.useRecording, 'never-made.jsonl', options),
    takes: {
      record: 'never',
      match: 'order',
      model: 'live',
      tools: 'live',
      checks: 'live',
      approvals: 'live',
      recovery: 'live',
      prompt: 'live',
    },
    slip: ['recrod', 'record'],
  },
  'a run of useRecording': {
    call: (options) =>
      untyped(testing.useRecording('never-made.jsonl', { record: 'never' }).run, small(), 'Go', options),
    takes: {},
    slip: ['maxStep', 'maxSteps'],
  },
  explorePaths: {
    call: (options) => untyped(testing.explorePaths, withTool(), given(options, EXPLORED)),
    takes: { ...exploring, agent: small(), never: () => false, always: { taks: () => true } },
    slip: ['taks', 'task'],
  },
  canReach: {
    call: (options) => untyped(testing.canReach, withTool(), () => true, given(options, EXPLORED)),
    takes: { ...exploring, agent: small() },
    slip: ['maxPath', 'maxPaths'],
  },
  assertCalledTool: {
    call: async (options) => {
      const run = small().run('Go');
      await run;
      return untyped(testing.assertCalledTool, run.recording(), 'look', {}, options);
    },
    takes: { times: 0, result: { tims: 1 } },
    slip: ['tims', 'times'],
  },
  'toHaveCalledTool of matchers': {
    call: async (options) =>
      untyped(testing.matchers.toHaveCalledTool, await small().run('Go'), 'look', undefined, options),
    takes: { times: 0 },
    slip: ['time', 'times'],
  },
  'the reporter of coverage': {
    call: (options) => Reflect.construct(CoverageReporter, [options]),
    takes: { json: 'never-made.json', print: nothing },
    slip: ['jsn', 'json'],
  },
  parseReply: {
    call: (options) => untyped(parsing.parseReply, 'Hello', options),
    takes: { tools: ['tool'], textCalls: 'never', limits: { maxChars: 5, maxDepth: 5 } },
    slip: ['tool', 'tools'],
  },
  createReplyStream: {
    call: (options) => untyped(parsing.createReplyStream, options),
    takes: { tools: ['tool'], textCalls: 'never', limits: { maxChars: 5 } },
    slip: ['textcalls', 'textCalls'],
  },
};
