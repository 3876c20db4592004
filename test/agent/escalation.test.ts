import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { EscalationError } from '../../src/json/errors.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { OnEscalation, Verdicts } from '../../src/recovery/verdicts.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { skill } from '../../src/tools/skill.ts';
import { calls, plan } from '../support/replies.ts';

const NUMBER = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };

/** A tool that escalates wrong arguments as well as its own failures. */
function fragile(severity: 'low' | 'high' | 'critical' = 'high') {
  const escalate = recover.escalate('it is beyond me', severity);
  return fakeTool('fragile', [new Error('broken')], {
    inputSchema: NUMBER,
    onError: { executionError: escalate, invalidArgs: escalate, deserializationError: escalate },
  });
}

const wrong = calls(['fragile', { n: 'many' }]);
const failing = calls(['fragile', { n: 1 }]);

function make(replies: readonly ScriptedReply[], onEscalation: OnEscalation | undefined, options: AgentOptions = {}) {
  const model = scriptedModel(replies);
  const tool = fragile();
  const agent = createAgent({
    model,
    tools: [tool],
    silent: true,
    ...(onEscalation === undefined ? {} : { onEscalation }),
    ...options,
  });
  return { agent, model, tool };
}

const lastUser = (messages: readonly { readonly role: string; readonly content: unknown }[] = []) =>
  String(messages.findLast(({ role }) => role === 'user')?.content);

describe('onEscalation', () => {
  test('is told what failed, why, how badly, and the error beneath', async () => {
    const seen: EscalationError[] = [];
    const { agent } = make([failing, 'ok'], (error) => void seen.push(error));
    await agent.run('Go');
    expect(seen).toEqual([
      expect.objectContaining({
        kind: 'escalation',
        source: 'fragile',
        reason: 'it is beyond me',
        severity: 'high',
        attempts: 1,
        originalError: expect.objectContaining({ kind: 'execution' }),
      }),
    ]);
  });

  test('retryWithModel asks the failed turn again of another model, once; the agent goes on with its own', async () => {
    const strong = scriptedModel([calls(['fragile', { n: 7 }])]);
    const tool = fakeTool('fragile', ['done'], {
      inputSchema: NUMBER,
      onError: { deserializationError: recover.escalate() },
    });
    const { agent, model } = make([wrong, 'It is done.'], (_error, to) => to.retryWithModel('strong'), {
      models: { strong },
      tools: [tool],
    });
    const run = agent.run('Go');
    expect(await run).toMatchObject({ status: 'answered', result: 'It is done.', stepsTaken: 3 });
    expect(strong.requests[0]?.messages).toEqual(model.requests[0]?.messages);
    expect(tool.calls).toEqual([{ n: 7 }]);
    expect(
      run
        .transitions()
        .filter(({ actor }) => actor === 'agent')
        .map(({ from, to }) => `${from} → ${to}`),
    ).toEqual(
      expect.arrayContaining([
        'ERROR_RECOVERY.ASSESSING → ERROR_RECOVERY.ESCALATING',
        'ERROR_RECOVERY.ESCALATING → ERROR_RECOVERY.JUDGED',
      ]),
    );
    expect(await replay(run.recording(), agent)).toMatchObject({ result: 'It is done.' });
  });

  test('a turn that is asked again is no last one, although it exceeded the budget of calls', async () => {
    const strong = scriptedModel([calls(['fragile', { n: 7 }])]);
    const tool = fakeTool('fragile', ['done'], {
      inputSchema: NUMBER,
      onError: { deserializationError: recover.escalate() },
    });
    const twice = calls(['fragile', { n: 'many' }], ['fragile', { n: 'more' }]);
    const model = scriptedModel([twice, { content: '{"n":1}' }]);
    const agent = createAgent({
      model,
      models: { strong },
      tools: [tool],
      silent: true,
      budget: { maxToolCalls: 1 },
      outputSchema: NUMBER,
      outputMode: 'prompt',
      onEscalation: (_error, to) => to.retryWithModel('strong'),
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', output: { n: 1 } });
    const { messages, tools } = model.requests[0] ?? {};
    expect(strong.requests[0]).toMatchObject({ messages, tools });
    expect(tool.calls).toEqual([{ n: 7 }]);
  });

  test('retryWithModel takes the model itself, and tells it what ran when something did', async () => {
    const strong = scriptedModel(['Fixed another way.']);
    const { agent } = make([failing], (_error, to) => to.retryWithModel(strong), { models: { strong } });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', result: 'Fixed another way.' });
    expect(lastUser(strong.requests[0]?.messages)).toMatch(
      /^Tool execution failed\. Please try an alternative approach\./,
    );
  });

  test('retryWithModel tells it, too, when only some of the calls ran', async () => {
    const strong = scriptedModel(['Fixed another way.']);
    const { agent } = make([calls(['look'], ['fragile', { n: 'many' }])], (_error, to) => to.retryWithModel(strong), {
      models: { strong },
      tools: [fragile(), fakeTool('look')],
    });
    await agent.run('Go');
    expect(lastUser(strong.requests[0]?.messages)).toContain('Already succeeded: look({})');
  });

  test('the same verdict for the same error applies once; then the model is told', async () => {
    let asked = 0;
    const strong = scriptedModel([wrong]);
    const { agent, model } = make([wrong, 'I give up.'], (_error, to) => (asked++, to.retryWithModel('strong')), {
      models: { strong },
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', result: 'I give up.' });
    expect(asked).toBe(2);
    expect(lastUser(model.requests[1]?.messages)).toContain('it is beyond me');
  });

  test('reroute to a skill limits the rest of the run to its tools and instructions', async () => {
    const careful = skill({ name: 'careful', instructions: 'Only look.', tools: [fakeTool('look')] });
    const { agent, model } = make([failing, calls(['fragile', { n: 2 }]), 'ok'], (_error, to) => to.reroute(careful), {
      skills: [careful],
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered' });
    const names = model.requests.map(({ tools = [] }) => tools.map(({ name }) => name));
    expect(names[0]).toEqual(['fragile', 'look', 'make_plan']);
    expect(names[1]).toEqual(['look', 'make_plan']);
    expect(JSON.stringify(model.requests[2]?.messages)).toContain("Tool 'fragile' not found");
  });

  test('reroute to a child hands it the task, and its answer is the answer', async () => {
    const below = scriptedModel(['The expert says 42.']);
    const expert = createAgent({ name: 'expert', model: below, silent: true });
    const { agent } = make([failing], (_error, to) => to.reroute('expert'), { children: [expert] });
    const run = agent.run('How many?');
    expect(await run).toMatchObject({ status: 'answered', result: 'The expert says 42.', reason: 'answer' });
    expect(lastUser(below.requests[0]?.messages)).toBe('How many?');
    expect(agent.history.at(-1)).toMatchObject({ role: 'assistant', content: 'The expert says 42.' });
    expect(await replay(run.recording(), agent)).toMatchObject({ result: 'The expert says 42.' });
  });

  test('a child that cannot do the task either leaves the failure with the agent', async () => {
    const expert = createAgent({
      name: 'expert',
      model: scriptedModel([new Error('down'), new Error('down')]),
      silent: true,
      retry: { backoff: recover.constant(0) },
    });
    const { agent, model } = make([failing, 'Sorry.'], (_error, to) => to.reroute(expert), { children: [expert] });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', result: 'Sorry.' });
    expect(lastUser(model.requests[1]?.messages)).toContain('expert');
  });

  test('partialResult ends the run as stopped, with its text', async () => {
    const { agent } = make([failing], (_error, to) => to.partialResult('Half of it.'));
    expect(await agent.run('Go')).toMatchObject({
      status: 'stopped',
      reason: 'tool-error',
      success: false,
      result: 'Half of it.',
      error: { code: 'escalation', tool: 'fragile' },
    });
  });

  test('throwException ends the run hard', async () => {
    const { agent } = make([failing], (_error, to) => to.throwException('no further'));
    const run = agent.run('Go');
    expect(await run).toMatchObject({
      status: 'failed',
      reason: 'thrown',
      error: { code: 'thrown', message: 'no further' },
    });
    await expect(run.orThrow()).rejects.toMatchObject({ name: 'ToolExecutionError' });
  });

  test('askHuman waits for a person, whose words the model gets', async () => {
    const { agent, model } = make([failing, 'ok'], (_error, to) => to.askHuman('Which number?'), { confirm: 'wait' });
    const run = agent.run('Go');
    for await (const event of run) if (event.type === 'approval.requested') break;
    expect(run.pending).toEqual([
      expect.objectContaining({ tool: 'fragile', args: { question: 'Which number?' }, reason: 'Which number?' }),
    ]);
    expect(Object.keys(run.pending[0] ?? {}).toSorted()).toEqual(['args', 'callId', 'reason', 'runId', 'tool']);
    expect(await run.approve(run.pending[0]?.callId ?? '', { args: { answer: 'seven' } })).toBe(true);
    expect(await run).toMatchObject({ status: 'answered' });
    expect(lastUser(model.requests[1]?.messages)).toMatch(/A person was asked: Which number\?\nThey answered: seven$/);
    expect(run.pending).toEqual([]);
  });

  test('askHuman takes the confirm callback for a yes or no, and counts as unhandled where nobody can be asked', async () => {
    const yes = make([failing, 'ok'], (_error, to) => to.askHuman('Go on?'), {
      confirm: ({ args }) => (args.question === 'Go on?' ? 'allow-once' : 'deny'),
    });
    await yes.agent.run('Go');
    expect(lastUser(yes.model.requests[1]?.messages)).toMatch(/They answered: yes$/);
    const no = make([failing, 'ok'], (_error, to) => to.askHuman('Go on?'), { confirm: () => 'deny' });
    await no.agent.run('Go');
    expect(lastUser(no.model.requests[1]?.messages)).toMatch(/They answered: no$/);
    const nobody = make([failing, 'ok'], (_error, to) => to.askHuman('Go on?'));
    await nobody.agent.run('Go');
    expect(lastUser(nobody.model.requests[1]?.messages)).not.toContain('answered');
  });

  test('a question to a person that nobody answers in time is unhandled', async () => {
    const { agent } = make([failing, 'ok'], (_error, to) => to.askHuman('Anybody?'), {
      confirm: 'wait',
      timeouts: { approvalMs: 20 },
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'answered' });
  });

  test('escalate raises the severity and never lowers it; critical at the root ends the run', async () => {
    const raised = make([failing], (_error, to) => to.escalate('worse than it looks', 'CRITICAL'));
    expect(await raised.agent.run('Go')).toMatchObject({
      status: 'failed',
      reason: 'tool-error',
      error: { message: 'worse than it looks' },
    });
    const tool = fragile('critical');
    const lowered = make([failing], (_error, to) => to.escalate('not so bad', 'low'), { tools: [tool] });
    expect(await lowered.agent.run('Go')).toMatchObject({ status: 'failed', reason: 'tool-error' });
  });

  test('a verdict written by hand cannot lower the severity either', async () => {
    const { agent } = make([failing], () => ({ kind: 'escalate', reason: 'not so bad', severity: 'low' }), {
      tools: [fragile('critical')],
    });
    expect(await agent.run('Go')).toMatchObject({ status: 'failed', error: { message: 'not so bad' } });
  });

  test('that throws, or names what is not there, is unhandled and noted', async () => {
    for (const handler of [
      () => Promise.reject(new Error('oops')),
      (_error, to) => to.reroute('nowhere'),
      (_error, to) => to.escalate('it is bad', 'dreadful'),
    ] satisfies OnEscalation[]) {
      const { agent } = make([failing, 'ok'], handler);
      const result = await agent.run('Go');
      expect(result).toMatchObject({ status: 'answered' });
      expect(result.errorHistory).toContainEqual(expect.objectContaining({ code: 'escalation-handler' }));
    }
  });

  test.each<[string, (to: Verdicts, given: never) => unknown]>([
    ['partialResult', (to, given) => to.partialResult(given)],
    ['askHuman', (to, given) => to.askHuman(given)],
    ['escalate', (to, given) => to.escalate(given, 'critical')],
    ['throwException', (to, given) => to.throwException(given)],
    ['partialResult', (_to, text) => ({ kind: 'partialResult', text })],
  ])('that says something that is no text is unhandled and noted: %s', async (verdict, handler) => {
    for (const given of [5, { rows: 3 }, new Error('full'), null]) {
      const onEscalation: OnEscalation = (_error, to) => Reflect.apply(handler, undefined, [to, given]);
      const asked: unknown[] = [];
      const confirm = (question: unknown) => {
        asked.push(question);
        return 'allow-once' as const;
      };
      const { agent } = make([failing, 'ok'], onEscalation, { confirm });
      const result = await agent.run('Go');
      expect(result).toMatchObject({ status: 'answered', result: 'ok' });
      const noted = { code: 'escalation-handler', message: expect.stringContaining(`to.${verdict}(): `) };
      expect(result.errorHistory).toContainEqual(expect.objectContaining(noted));
      expect(asked).toEqual([]);
    }
  });

  test('without one, high is told to the model and critical ends the run', async () => {
    const told = make([failing, 'ok'], undefined);
    expect(await told.agent.run('Go')).toMatchObject({ status: 'answered' });
    const critical = make([failing], undefined, { tools: [fragile('critical')] });
    expect(await critical.agent.run('Go')).toMatchObject({
      status: 'failed',
      reason: 'tool-error',
      error: { code: 'escalation' },
    });
  });

  test('decides about steps of a plan, too, and only about the worst of several', async () => {
    const seen: string[] = [];
    const mild = fakeTool('mild', [new Error('x')], { onError: { executionError: recover.escalate('mild', 'low') } });
    const { agent } = make(
      [calls(['mild'], ['fragile', { n: 1 }]), plan(['mild']), 'ok'],
      ({ reason }) => void seen.push(reason),
      {
        tools: [mild, fragile()],
      },
    );
    expect(await agent.run('Go')).toMatchObject({ status: 'answered' });
    expect(seen).toEqual(['it is beyond me', 'mild']);
  });
});

describe('an escalation in a child', () => {
  function tree(
    handlers: { readonly child?: OnEscalation; readonly parent?: OnEscalation },
    replies: readonly ScriptedReply[],
    childReplies: readonly ScriptedReply[],
  ) {
    const below = scriptedModel(childReplies);
    const above = scriptedModel(replies);
    const child = createAgent({
      name: 'worker',
      model: below,
      tools: [fragile()],
      silent: true,
      ...(handlers.child === undefined ? {} : { onEscalation: handlers.child }),
    });
    const agent = createAgent({
      model: above,
      children: [child],
      silent: true,
      ...(handlers.parent === undefined ? {} : { onEscalation: handlers.parent }),
    });
    return { agent, below, above };
  }
  const delegate = calls(['worker', { task: 'work' }]);

  test('is decided by its own handler first, and stays there', async () => {
    const asked: string[] = [];
    const { agent } = tree(
      {
        child: (_error, to) => (asked.push('child'), to.partialResult('some of it')),
        parent: () => void asked.push('parent'),
      },
      [delegate, 'ok'],
      [failing],
    );
    const result = await agent.run('Go');
    expect(asked).toEqual(['child']);
    expect(result.messages.find(({ role }) => role === 'tool')?.content).toContain('some of it');
  });

  test('passes through a child without a handler to the first above', async () => {
    const asked: EscalationError[] = [];
    const { agent, below } = tree(
      { parent: (error, to) => (asked.push(error), to.partialResult('enough')) },
      [delegate],
      [failing],
    );
    expect(await agent.run('Go')).toMatchObject({ status: 'stopped', result: 'enough' });
    expect(asked).toEqual([expect.objectContaining({ source: 'fragile', severity: 'high' })]);
    expect(below.requests).toHaveLength(1);
  });

  test('rises in severity on its way up', async () => {
    const asked: string[] = [];
    const { agent } = tree(
      {
        child: (_error, to) => to.escalate('it burns', 'critical'),
        parent: ({ severity, reason }) => void asked.push(`${severity}: ${reason}`),
      },
      [delegate],
      [failing],
    );
    expect(await agent.run('Go')).toMatchObject({
      status: 'failed',
      reason: 'tool-error',
      error: { message: 'it burns' },
    });
    expect(asked).toEqual(['critical: it burns']);
  });

  test('that nobody handles is told to the model at the root', async () => {
    const { agent, above } = tree({}, [delegate, 'Then without.'], [failing]);
    expect(await agent.run('Go')).toMatchObject({ status: 'answered', result: 'Then without.' });
    expect(lastUser(above.requests[1]?.messages)).toContain('it is beyond me');
  });

  test('a child that throws ends the whole run, its siblings are stopped, and what came in is kept', async () => {
    let aborted = false;
    const slow = fakeTool('slow', []);
    const hanging = {
      ...slow,
      execute: (_args: unknown, { signal }: { readonly signal: AbortSignal }) =>
        new Promise((_r, reject) =>
          signal.addEventListener('abort', () => ((aborted = true), reject(new Error('stopped')))),
        ),
    };
    const child = createAgent({
      name: 'worker',
      model: scriptedModel([failing]),
      tools: [fragile()],
      onEscalation: (_error, to) => to.throwException('stop it all'),
      silent: true,
    });
    const agent = createAgent({
      model: scriptedModel([calls(['look'], ['slow'], ['worker', { task: 'x' }])]),
      tools: [fakeTool('look', ['seen']), hanging],
      children: [child],
      silent: true,
    });
    const run = agent.run('Go');
    const result = await run;
    expect(result).toMatchObject({ status: 'failed', reason: 'thrown', error: { message: 'stop it all' } });
    expect(aborted).toBe(true);
    expect(JSON.stringify(result.messages)).toContain('seen');
    expect(await replay(run.recording(), agent)).toMatchObject({ reason: 'thrown' });
  });
});
