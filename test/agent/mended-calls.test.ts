import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { ToolError } from '../../src/json/errors.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { OnError } from '../../src/recovery/steps.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Effects } from '../../src/tools/spec.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';

/** One call of `write`, whose code checks the arguments and which runs as `execute` says; gives how often each was asked. */
async function oneCall(given: {
  readonly args?: JsonObject;
  readonly onError: OnError;
  readonly effects?: Effects;
  readonly check?: (time: number) => void;
  readonly execute?: (time: number) => unknown;
}) {
  const { args = { path: '/a' }, onError, effects = 'once', check, execute } = given;
  const asked = { checked: 0, ran: 0 };
  const write = tool({
    name: 'write',
    description: 'Writes.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    onError,
    effects,
    validateArgs: (value) => {
      asked.checked++;
      check?.(asked.checked);
      return value;
    },
    execute: () => {
      asked.ran++;
      return execute?.(asked.ran) ?? 'written';
    },
  });
  const model = scriptedModel([calls(['write', args]), 'Done.']);
  const result = await createAgent({ model, tools: [write], silent: true }).run('Write');
  return { ...asked, result, told: JSON.stringify(model.requests[1]?.messages) };
}

const failOnce = (time: number) => {
  if (time === 1) throw new Error('busy');
};

describe('a retry', () => {
  test('of arguments that were rejected checks them again', async () => {
    const onError = { deserializationError: recover.retry({ maxAttempts: 2 }) };
    const { checked, ran, result } = await oneCall({ onError, check: failOnce, execute: () => 1 });
    expect({ checked, ran }).toEqual({ checked: 2, ran: 1 });
    expect(result).toMatchObject({ status: 'answered', errorHistory: [] });
  });

  test('of arguments that do not fit runs nothing', async () => {
    const onError = { deserializationError: recover.retry({ maxAttempts: 3 }) };
    const { ran, result } = await oneCall({ args: { size: 1 }, onError, execute: () => 1 });
    expect(ran).toBe(0);
    expect(result.errorHistory).toMatchObject([{ code: 'deserialization' }]);
  });

  test('of a call that failed while it ran does not check its arguments again', async () => {
    const onError = { executionError: recover.retry({ maxAttempts: 2 }) };
    const { checked, ran } = await oneCall({ onError, check: () => undefined, execute: failOnce });
    expect({ checked, ran }).toEqual({ checked: 1, ran: 2 });
  });
});

test('what the model is told of a call that failed twice is of its second failure alone', async () => {
  const { told } = await oneCall({
    onError: { executionError: recover.retry({ maxAttempts: 2 }) },
    execute: (time) => {
      if (time === 2) throw new Error('broken');
      return { status: 'error', error: 'busy', suggestion: 'wait a little' };
    },
  });
  expect(told).toContain('broken');
  expect(told).not.toMatch(/busy|wait a little/);
});

test.each<[Effects, number, boolean]>([
  ['none', 2, false],
  ['idempotent', 2, true],
  ['once', 1, true],
])(
  'a call with effects %s and an unknown outcome runs %i times; the model is warned: %s',
  async (effects, times, warned) => {
    const { ran, told } = await oneCall({
      effects,
      onError: { executionError: recover.retry({ maxAttempts: 2 }) },
      execute: () => {
        throw Object.assign(new Error('the line broke'), { code: 'unknown-outcome' });
      },
    });
    expect(ran).toBe(times);
    expect(told.includes('Nobody knows whether')).toBe(warned);
  },
);

describe('code of onError that throws', () => {
  const boom = () => {
    throw new TypeError("Cannot read 'size' of sekret-0815");
  };
  const warned = async (onError: OnError, execute = boom as () => unknown) => {
    const given = { inputSchema: { type: 'object', properties: { n: { type: 'integer' } } }, onError, execute };
    const write = tool({ name: 'write', description: 'Writes.', ...given });
    const model = scriptedModel([calls(['write', { n: 'x' }]), 'Done.']);
    const agent = createAgent({ model, tools: [write], secrets: ['sekret-0815'], silent: true });
    const warnings: string[] = [];
    const run = agent.run('Write');
    for await (const event of run) if (event.type === 'warning') warnings.push(event.message);
    const again: string[] = [];
    for await (const event of replay(run.recording(), agent)) if (event.type === 'warning') again.push(event.message);
    expect(again).toEqual(warnings);
    return { warnings, result: await run };
  };

  test.each<[string, OnError]>([
    ['chooseSteps', { deserializationError: boom }],
    ['fix', { deserializationError: recover.fix(boom) }],
    ['sanitize', { deserializationError: recover.sanitize(boom) }],
    ['substitute', { deserializationError: recover.substitute(boom) }],
    ['repairAgent', { deserializationError: recover.fix(createAgent({ name: 'clerk', implementedBy: boom })) }],
  ])('is told by a warning, without secrets, and the call goes on: %s', async (step, onError) => {
    const { warnings, result } = await warned(onError);
    expect(warnings).toEqual([
      expect.stringMatching(new RegExp(`^onError of 'write' failed \\(${step}\\): .*Cannot read 'size' of «secret`)),
    ]);
    expect(result).toMatchObject({ status: 'answered', errorHistory: [{ code: 'deserialization' }] });
  });

  test('is told once, whatever steps follow it', async () => {
    const steps = [recover.fix(boom), recover.sanitize(() => null), recover.sanitize(() => ({ n: 1 }))];
    const { warnings } = await warned({ deserializationError: steps }, () => 'written');
    expect(warnings).toHaveLength(1);
  });

  test('a tool that fails, and a step that finds nothing, are not', async () => {
    const none = recover.fix(() => null);
    expect((await warned({ executionError: none, deserializationError: none })).warnings).toEqual([]);
    const mended = { deserializationError: recover.fix(() => ({ n: 1 })), executionError: none };
    expect((await warned(mended)).warnings).toEqual([]);
  });
});

describe('a step that gives nothing', () => {
  const failing = () => {
    throw new Error('busy');
  };

  test.each<[string, OnError]>([
    ['fix', { executionError: recover.fix(() => null) }],
    ['sanitize', { executionError: recover.sanitize(() => undefined) }],
  ])('%s: the tool does not run again with what it had', async (_step, onError) => {
    const { ran, told } = await oneCall({ onError, execute: failing });
    expect(ran).toBe(1);
    expect(told).toContain('busy');
  });

  test('a repair agent: the tool does not run again with what it had', async () => {
    const fixer = createAgent({ implementedBy: () => null });
    const { ran } = await oneCall({ onError: { executionError: recover.fix(fixer) }, execute: failing });
    expect(ran).toBe(1);
  });

  test.each([
    ['null', null],
    ['nothing', undefined],
  ])('substitute (%s): the error stays, or the next step is taken', async (_what, nothing) => {
    const none = recover.substitute(() => nothing);
    const alone = await oneCall({ onError: { executionError: none }, execute: failing });
    expect(alone.result.errorHistory).toMatchObject([{ code: 'execution' }]);
    const next = await oneCall({
      onError: { executionError: [none, recover.substitute(() => 'stood in')] },
      execute: failing,
    });
    expect(next.told).toContain('stood in');
    expect(next.result.errorHistory).toEqual([]);
  });
});

describe('what a call says of itself', () => {
  test('an escalation counts the failures, not the steps that gave nothing', async () => {
    const attempts: number[] = [];
    const broken = fakeTool('broken', [new Error('no')], {
      onError: { executionError: [recover.fix(() => null), recover.sanitize(() => null), recover.escalate()] },
    });
    const agent = createAgent({
      model: scriptedModel([calls(['broken']), 'ok']),
      tools: [broken],
      onEscalation: (error) => void attempts.push(error.attempts),
      silent: true,
    });
    await agent.run('Go');
    expect(attempts).toEqual([1]);
  });

  test('its last event shows the arguments as they were used, and as the model wrote them where they were not', async () => {
    const shown: unknown[] = [];
    const agent = createAgent({
      model: scriptedModel([calls(['look', { n: '7' }], ['look', '[1, 2]']), 'ok']),
      tools: [fakeTool('look', [1], { inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } })],
      silent: true,
    });
    for await (const event of agent.run('Go')) if (event.type === 'tool.finished') shown.push([event.args, event.ok]);
    expect(shown).toEqual(
      expect.arrayContaining([
        [{ n: 7 }, true],
        [[1, 2], false],
      ]),
    );
  });

  test.each([
    ['its error', { error: 'out of paper', message: 'printed nothing' }, 'out of paper'],
    ['its message where there is no error', { message: 'printed nothing' }, 'printed nothing'],
  ])('a result that is an error is known by %s', async (_what, told, text) => {
    const printer = fakeTool('print', [{ status: 'error', ...told }]);
    const agent = createAgent({ model: scriptedModel([calls(['print']), 'ok']), tools: [printer], silent: true });
    expect((await agent.run('Go')).errorHistory).toMatchObject([{ message: `Tool execution failed: ${text}` }]);
  });

  test.each([
    ['minus a second', { retryAfter: -1 }],
    ['minus a millisecond', { retryAfterMs: -1 }],
  ])('a result that asks to wait %s asks for nothing', async (_what, wait) => {
    const busy = fakeTool('busy', [{ status: 'error', error: 'busy', ...wait }, 'done'], {
      onError: { executionError: recover.retry({ maxAttempts: 2 }) },
    });
    const agent = createAgent({ model: scriptedModel([calls(['busy']), 'ok']), tools: [busy], silent: true });
    const run = agent.run('Go');
    await run;
    expect(busy.calls).toHaveLength(2);
    expect(run.transitions().filter(({ to }) => to === 'RECOVERING.BACKING_OFF')).toEqual([]);
  });
});

test('without parallel calls, none beyond the budget begins', async () => {
  const look = fakeTool('look');
  const agent = createAgent({
    model: scriptedModel([calls(['look', { n: 1 }], ['look', { n: 2 }], ['look', { n: 3 }])]),
    tools: [look],
    parallelToolCalls: false,
    budget: { maxToolCalls: 2 },
    silent: true,
  });
  const run = agent.run('Go');
  expect(await run).toMatchObject({ reason: 'budget' });
  expect(look.calls).toEqual([{ n: 1 }, { n: 2 }]);
  expect(run.transitions().map(({ actor }) => actor)).not.toContain('agent/c3');
});

test.each([0, 1.5, NaN, Infinity, -1])('%d attempts or retries are refused when the step is made', (times) => {
  const fixer = createAgent({ implementedBy: () => null });
  expect(() => recover.retry({ maxAttempts: times })).toThrow(/maxAttempts must be a whole number from 1 on/);
  expect(() => recover.fix(fixer, { retries: times })).toThrow(/retries must be a whole number from 1 on/);
});

test.each<[keyof typeof recover, readonly unknown[], RegExp]>([
  ['fix', [], /^recover\.fix: the first argument must be a function or an agent\.$/],
  ['fix', [{ name: 'fixer' }], /must be a function or an agent/],
  ['sanitize', ['trim'], /^recover\.sanitize: the argument must be a function\.$/],
  ['substitute', [null], /^recover\.substitute: the argument must be a function\.$/],
  ['escalate', [new Error('full')], /^recover\.escalate: the reason must be text\.$/],
  ['throwException', [new Error('full')], /^recover\.throwException: the reason must be text\.$/],
  [
    'retry',
    [{ backoff: 500 }],
    /^recover\.retry: backoff must be made by recover\.exponential\(\) or recover\.constant\(\)\.$/,
  ],
  [
    'retry',
    [{ backoff: recover.constant(-1) }],
    /^recover\.retry: backoff\.ms: Too small: expected number to be >=0\.$/,
  ],
  ['retry', [{ backoff: recover.exponential({ jitter: 50 }) }], /^recover\.retry: backoff\.jitter: Too big: .*<=1\.$/],
  ['retry', [{ whenUnknown: 'no' }], /^recover\.retry: whenUnknown must be true or false\.$/],
])('a step that could only fail when it is taken is refused when it is made: %s(%j)', (step, args, message) => {
  const made = () => Reflect.apply(recover[step], undefined, args);
  expect(made).toThrow(TypeError);
  expect(made).toThrow(message);
});

test('what a program may leave out of a step stays out', () => {
  const fixer = createAgent({ implementedBy: () => null });
  const steps = [
    recover.fix(fixer),
    recover.fix((text) => text),
    recover.retry({ backoff: recover.constant(0), whenUnknown: false }),
    recover.escalate(undefined, 'LOW'),
    recover.throwException(),
    recover.throwException('full'),
  ];
  expect(steps).toMatchObject([
    { kind: 'fix-agent', retries: 1 },
    { kind: 'fix' },
    { kind: 'retry', maxAttempts: 3, whenUnknown: false },
    { kind: 'escalate', reason: null, severity: 'low' },
    { kind: 'throw', reason: null },
    { kind: 'throw', reason: 'full' },
  ]);
});

test('a function of the error is called once for each error, also if it remembers what it was asked', async () => {
  const asked: string[] = [];
  const broken = fakeTool('broken', [new Error('one'), new Error('two'), new Error('three')]);
  const executionError = (error: ToolError) => {
    const text = error.kind === 'execution' ? error.cause.message : '';
    asked.push(text);
    const isFirst = asked.length === 1;
    return isFirst ? recover.retry({ maxAttempts: 2 }) : asked.length === 2 ? recover.substitute(() => text) : null;
  };
  const replies = [calls(['broken', { n: 1 }], ['broken', { n: 2 }]), 'Hm.'];
  const agent = createAgent({
    model: scriptedModel(replies),
    tools: [{ ...broken, onError: { executionError } }],
    parallelToolCalls: false,
    silent: true,
  });
  const result = await agent.run('Go');
  expect(asked).toEqual(['one', 'two', 'three']);
  expect(result.messages[2]).toMatchObject({ content: '{"status":"success","data":"two"}' });
  expect(result.errorHistory).toMatchObject([{ message: 'Tool execution failed: three' }]);
});

test.each(['\n```', '\n```\n', '\n\n```` \n'])(
  'a call in a fence that lacks its last brace is closed before %j',
  async (fence) => {
    const get = fakeTool('get', ['It is there.']);
    const content = `\`\`\`json\n{"tool": "get", "tool_args": {"a": 1}${fence}`;
    const model = scriptedModel([{ content, finishReason: 'stop' }, '{"answer": "Done."}']);
    await createAgent({ model, tools: [get], silent: true, toolCalling: 'json' }).run('Go on.');
    expect(get.calls).toHaveLength(1);
  },
);
