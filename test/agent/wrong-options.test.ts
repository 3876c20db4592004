import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const make = (options: unknown) => () => Reflect.apply(createAgent, undefined, [options]);

describe('createAgent refuses a wrong option when the agent is made, by name and with the reason', () => {
  test.each<[string, unknown]>([
    ['name', ''],
    ['name', 5],
    ['instructions', 5],
    ['systemPrompt', 'text'],
    ['model', 5],
    ['model', {}],
    ['model', 'no-such-preset'],
    ['models.fast', 5],
    ['tools', 'look'],
    ['tools.0', { name: 'look' }],
    ['tools.1', null],
    ['mcpServers', 'files'],
    ['mcpServers.files', null],
    ['mcpServers.files', {}],
    ['mcpServers.files', { comand: 'npx' }],
    ['mcpServers.files', { command: 5 }],
    ['mcpServers.files', { command: 'npx', polcy: 'deny' }],
    ['mcpServers.files', { command: 'npx', url: 'http://localhost' }],
    ['mcpServers.files', { url: 'no url' }],
    ['maxSteps', 0],
    ['maxSteps', 1.5],
    ['maxSteps', '20'],
    ['maxSteps', NaN],
    ['maxSteps', Infinity],
    ['maxPlanIterations', -1],
    ['maxConsecutiveRepeats', 1],
    ['maxHistoryMessages', -1],
    ['maxToolResultChars', 0],
    ['minContextSize', -1],
    ['temperature', 2.1],
    ['temperature', -0.1],
    ['maxTokens', 0],
    ['timeouts', 5],
    ['timeouts.connectMs', 0],
    ['timeouts.responseMs', -1],
    ['timeouts.toolMs', NaN],
    ['timeouts.approvalMs', 0],
    ['timeouts.totalMs', '5'],
    ['timeouts.conectMs', 5],
    ['retry.maxAttempts', 0],
    ['retry.backoff', 500],
    ['retry.retryable', true],
    ['retry.attempts', 2],
    ['toolCalling', 'xml'],
    ['parallelToolCalls', 'yes'],
    ['streaming', 1],
    ['defaultPolicy', 'Deny'],
    ['confirm', 'ask'],
    ['permissions', {}],
    ['budget.maxToolCalls', -1],
    ['budget.maxTokens', 0],
    ['limits.argumentBytes', 0],
    ['limits.resultBytes', '1 MB'],
    ['journal', {}],
    ['output', 'console'],
    ['silent', 'true'],
    ['debug', 1],
    ['showPrompts', 1],
    ['showStats', 1],
    ['debugPrompts', 1],
    ['recordTokens', 1],
    ['trace', 5],
    ['outputDir', ''],
    ['version', ''],
    ['onEvent', {}],
    ['history', 'text'],
    ['history.0', { role: 'robot', content: '' }],
    ['history.0', { role: 'user', content: 5 }],
    ['seed', 'x'],
    ['maxStep', 20],
    ['tempreature', 1],
  ])('%s: %j', (path, value) => {
    const [head = '', rest, leaf] = path.split('.');
    const inner = leaf === undefined ? value : { [leaf]: value };
    const list = rest === '1' ? [fakeTool('look'), value] : [value];
    const option = rest === undefined ? value : /^\d$/.test(rest) ? list : { [rest]: inner };
    expect(make({ silent: true, [head]: option })).toThrow(TypeError);
    expect(make({ silent: true, [head]: option })).toThrow(new RegExp(path.replaceAll('.', String.raw`[.'"\[]+`)));
  });

  test.each([[null], [5], ['text'], [[]]])('options that are %j', (options) => {
    expect(make(options)).toThrow(TypeError);
  });

  test('and names all wrong ones at once', () => {
    const wrong = make({ maxSteps: 0, temperature: 9, colour: 'red' });
    for (const name of ['maxSteps', 'temperature', 'colour']) expect(wrong).toThrow(new RegExp(name));
  });

  test('two tools of one name', () => {
    expect(make({ tools: [fakeTool('look'), fakeTool('look')] })).toThrow(/'look'.*already/);
  });
});

describe('createAgent takes', () => {
  test.each<[string, unknown]>([
    ['maxSteps', 1],
    ['maxPlanIterations', 0],
    ['maxConsecutiveRepeats', 2],
    ['maxHistoryMessages', 0],
    ['temperature', 0],
    ['temperature', 2],
    ['maxTokens', 1],
    ['toolCalling', 'json'],
    ['confirm', 'wait'],
    ['timeouts', { totalMs: 0.5 }],
    ['mcpServers', { off: { command: 'x', disabled: true } }],
  ])('the outermost value of a range, %s: %j', (name, value) => {
    expect(make({ silent: true, [name]: value })).not.toThrow();
  });

  test('an option that is undefined as one that was not given', () => {
    const agent = Reflect.apply(createAgent, undefined, [{ maxSteps: undefined, name: undefined, silent: true }]);
    expect(agent.name).toBe('agent');
    expect(agent.options).toMatchObject({ maxSteps: 20, name: 'agent' });
  });

  test('no options at all, without asking anybody anything', () => {
    expect(createAgent().tools.size).toBe(0);
  });
});

describe('agent.options', () => {
  test('are the resolved ones', () => {
    expect(createAgent({ silent: true, timeouts: { toolMs: 5 } }).options).toMatchObject({
      name: 'agent',
      maxSteps: 20,
      maxPlanIterations: 3,
      maxConsecutiveRepeats: 4,
      maxHistoryMessages: 40,
      maxToolResultChars: 4000,
      minContextSize: 32_768,
      debug: false,
      inspect: false,
      trace: false,
      showPrompts: false,
      showStats: false,
      debugPrompts: false,
      recordTokens: false,
      timeouts: { connectMs: 30_000, responseMs: 120_000, toolMs: 5 },
      retry: { maxAttempts: 2 },
      limits: { argumentBytes: 1_000_000, resultBytes: 10_000_000 },
      toolCalling: 'auto',
      streaming: false,
      defaultPolicy: 'allow',
      silent: true,
      outputDir: '.',
    });
  });

  test('have the defaults of what is undefined, at any depth', () => {
    const unset = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, undefined]));
    const agent = createAgent({
      silent: true,
      timeouts: unset(['connectMs', 'responseMs', 'toolMs']),
      retry: unset(['maxAttempts', 'backoff']),
      limits: { ...unset(['argumentBytes', 'resultBytes']), mcp: unset(['tools', 'messageBytes']) },
    });
    const { timeouts, retry, limits } = createAgent({ silent: true }).options;
    expect([agent.options.timeouts, agent.options.retry]).toStrictEqual([timeouts, retry]);
    expect(agent.options.limits).toStrictEqual(limits);
    const given = createAgent({ silent: true, timeouts: { responseMs: 7 }, limits: { mcp: { tools: 3 } } }).options;
    expect([given.timeouts?.responseMs, given.limits?.mcp?.tools]).toEqual([7, 3]);
  });

  test('are frozen', () => {
    const { options } = createAgent({ silent: true });
    expect(Object.isFrozen(options) && Object.isFrozen(options.timeouts)).toBe(true);
  });
});

describe('configure', () => {
  test('changes an agent between runs; a new default policy holds for what is registered afterwards', async () => {
    const agent = createAgent({ model: scriptedModel([]), tools: [fakeTool('old')], silent: true });
    const model = scriptedModel(['Hi.']);
    agent.configure({ model, instructions: 'Be kind.', defaultPolicy: 'deny' });
    agent.tools.register(fakeTool('new'));
    expect(agent.listTools().map(({ name, policy }) => [name, policy])).toEqual([
      ['old', 'allow'],
      ['new', 'deny'],
    ]);
    expect(await agent.run('Hello')).toMatchObject({ result: 'Hi.' });
    expect(model.requests[0]?.messages[0]?.content).toBe('Be kind.');
    expect(agent.options.defaultPolicy).toBe('deny');
  });

  test('refuses a wrong option by name', () => {
    const agent = createAgent({ silent: true });
    expect(() => Reflect.apply(agent.configure, agent, [{ defaultPolicy: 'maybe' }])).toThrow(/defaultPolicy/);
  });
});
