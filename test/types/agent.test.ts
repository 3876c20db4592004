import { type AnyActorLogic, createActor, setup } from 'xstate';
import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  AGENT_STATES,
  type Agent,
  type AgentOptions,
  type AgentPath,
  type AgentState,
  type ErrorEntry,
  type Message,
  type PendingApproval,
  type Run,
  RunError,
  type RunEvent,
  type RunReason,
  type RunResult,
  type RunState,
  createAgent,
} from '../../src/index.ts';
import { replay } from '../../src/journal/index.ts';
import { agentMachine } from '../../src/machines/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';

const agent = createAgent({ model: scriptedModel(['Hi.', 'Hi.', 'Hi.', 'Hi.']), silent: true });

type EventOf<T extends RunEvent['type']> = Extract<RunEvent, { readonly type: T }>;

describe('the types of an agent', () => {
  test('a run is awaitable, iterable and no promise of one', async () => {
    const run = agent.run('Hello');
    expectTypeOf(run).toEqualTypeOf<Run>();
    expectTypeOf(run).toExtend<PromiseLike<RunResult>>();
    expectTypeOf(run).toExtend<AsyncIterable<RunEvent>>();
    expectTypeOf(await run).toEqualTypeOf<RunResult>();
    expectTypeOf(run.then(({ result }) => result)).toEqualTypeOf<Promise<string>>();
    expectTypeOf(run.orThrow).returns.resolves.toBeString();
    expectTypeOf(run.cancel).returns.resolves.toBeBoolean();
    expectTypeOf(run.state).toEqualTypeOf<RunState>();
    expectTypeOf(replay(run.recording(), agent)).toEqualTypeOf<Run>();
    expectTypeOf(agent).toEqualTypeOf<Agent>();
  });

  test('events are a union that narrows by type', async () => {
    const run = agent.run('Hello');
    for await (const event of run) {
      expectTypeOf(event.seq).toBeNumber();
      expectTypeOf(event.replayed).toBeBoolean();
      if (event.type === 'tool.finished') expectTypeOf(event.durationMs).toBeNumber();
      if (event.type === 'run.finished') expectTypeOf(event.result).toEqualTypeOf<RunResult<unknown>>();
      if (event.type === 'state.changed') expectTypeOf(event.to).toEqualTypeOf<AgentState>();
      // @ts-expect-error -- there is no such event
      if (event.type === 'tool.exploded') break;
    }
    expectTypeOf<EventOf<'model.token'>>().toHaveProperty('attempt');
    expectTypeOf<RunEvent['type']>().toEqualTypeOf<
      | 'run.started'
      | 'step.started'
      | 'state.changed'
      | 'model.token'
      | 'message.received'
      | 'message.delivered'
      | 'output.partial'
      | 'output.element'
      | 'model.replied'
      | 'model.retrying'
      | 'thought'
      | 'goal'
      | 'plan.made'
      | 'tool.started'
      | 'tool.progress'
      | 'question.asked'
      | 'question.answered'
      | 'tool.finished'
      | 'tool.denied'
      | 'approval.requested'
      | 'recovery.step'
      | 'escalation.raised'
      | 'loop.suspected'
      | 'permission.outdated'
      | 'mcp.changed'
      | 'mcp.log'
      | 'answer'
      | 'warning'
      | 'run.finished'
    >();
  });

  test('a result says what there is', () => {
    expectTypeOf<RunResult['result']>().toBeString();
    expectTypeOf<RunResult['status']>().toEqualTypeOf<'answered' | 'stopped' | 'failed' | 'cancelled' | 'waiting'>();
    expectTypeOf<RunReason>().toEqualTypeOf<
      | 'answer'
      | 'max-steps'
      | 'loop'
      | 'plan-limit'
      | 'refused'
      | 'content-filter'
      | 'output-invalid'
      | 'length'
      | 'llm-error'
      | 'tool-error'
      | 'thrown'
      | 'cancelled'
      | 'timeout'
      | 'budget'
      | 'released'
      | 'parked'
    >();
    expectTypeOf<RunResult['errorHistory']>().toEqualTypeOf<readonly ErrorEntry[]>();
    expectTypeOf<RunResult['messages']>().toEqualTypeOf<readonly Message[]>();
    expectTypeOf<RunResult['states']>().toEqualTypeOf<readonly AgentState[]>();
    expectTypeOf<(typeof AGENT_STATES)[number]>().toEqualTypeOf<AgentState>();
    expectTypeOf<RunError['code']>().toEqualTypeOf<RunReason>();
    expectTypeOf<RunError['result']>().toEqualTypeOf<RunResult<unknown>>();
  });

  test('the options of an agent have their defaults, and nothing else is said to be there', () => {
    const { options } = createAgent({ silent: true });
    const { name, instructions, maxSteps, maxPlanIterations, maxSteers, streaming, plans, defaultPolicy, budget } =
      options;
    const { timeouts, retry, limits, temperature, model } = options;
    const there = {
      name,
      instructions,
      maxSteps,
      maxPlanIterations,
      maxSteers,
      streaming,
      plans,
      defaultPolicy,
      budget,
    };
    const { maxHistoryMessages, minContextSize, toolCalling, outputDir, parallelToolCalls, recordTokens } = options;
    const more = { maxHistoryMessages, minContextSize, toolCalling, outputDir, parallelToolCalls, recordTokens };
    const groups = { ...limits, toolMs: timeouts.toolMs, responseMs: timeouts.responseMs, backoff: retry.backoff };
    for (const value of Object.values({ ...there, ...more, ...groups })) expect(value).toBeDefined();
    expectTypeOf(maxSteps).toEqualTypeOf<number>();
    expectTypeOf(timeouts.toolMs).toEqualTypeOf<number>();
    expectTypeOf(timeouts.totalMs).toEqualTypeOf<number | undefined>();
    expectTypeOf(temperature).toEqualTypeOf<number | undefined>();
    expectTypeOf(options).toExtend<AgentOptions>();
    expect([temperature, model, timeouts.totalMs]).toEqual([undefined, undefined, undefined]);
  });

  test('options that do not exist do not compile', () => {
    // @ts-expect-error -- a misspelt option
    expectTypeOf({ maxStep: 5 }).toExtend<AgentOptions>();
    expectTypeOf<AgentOptions['toolCalling']>().toEqualTypeOf<'auto' | 'json' | 'native' | undefined>();
    expectTypeOf<AgentOptions['confirm']>().extract<string>().toEqualTypeOf<'wait'>();
  });
});

describe('the types of embedding', () => {
  test('agent.logic in setup(): input in, RunResult out, RunEvents emitted', () => {
    const desk = setup({ actors: { assistant: agent.logic } }).createMachine({
      invoke: {
        src: 'assistant',
        input: { task: 'Hello', history: [{ role: 'user', content: 'Before.' }] },
        onDone: { actions: ({ event }) => expectTypeOf(event.output).toEqualTypeOf<RunResult>() },
      },
    });
    createActor(desk).start().stop();
    const actor = createActor(agent.logic, { input: { task: 'Hello' } });
    actor.on('tool.finished', (event) => expectTypeOf(event).toExtend<EventOf<'tool.finished'>>());
    expectTypeOf(actor.getSnapshot().output).toEqualTypeOf<RunResult | undefined>();
    // @ts-expect-error -- the task is missing
    createActor(agent.logic, { input: {} });
    setup({ actors: { assistant: agent.logic } }).createMachine({
      // @ts-expect-error -- the task is a text
      invoke: { src: 'assistant', input: { task: 5 } },
    });
  });

  test('the snapshot of agent.logic says where the run is, for whoever renders it', () => {
    expectTypeOf(agent.logic).toExtend<AnyActorLogic>();
    const actor = createActor(agent.logic, { input: { task: 'Hello' } });
    const { value, step, pending, runId, run } = actor.getSnapshot();
    expectTypeOf(value).toEqualTypeOf<AgentPath>();
    expectTypeOf<'ERROR_RECOVERY.ASKING_HUMAN'>().toExtend<AgentPath>();
    expectTypeOf<'THINKING'>().not.toExtend<AgentPath>();
    expectTypeOf(step).toBeNumber();
    expectTypeOf(pending).toEqualTypeOf<readonly PendingApproval[]>();
    expectTypeOf(runId).toBeString();
    expectTypeOf(run).toEqualTypeOf<Run | null>();
    actor.send({ type: 'approval.given', callId: 'c1', args: { answer: 'yes' } });
    // @ts-expect-error -- an event that the actor does not know
    actor.send({ type: 'approval.expired' });
  });

  test('the bare machine takes agent.actors and gives its output typed', () => {
    const actor = createActor(agentMachine.provide({ actors: agent.actors }), { input: { task: 'Hello' } });
    expectTypeOf(actor.getSnapshot().output?.reason).toEqualTypeOf<RunReason | undefined>();
    // @ts-expect-error -- an actor that the machine does not know
    agentMachine.provide({ actors: { llmcall: agent.actors.llmCall } });
    actor.send({ type: 'run.cancelled', reason: 'enough' });
    // @ts-expect-error -- an event that the machine does not know
    actor.send({ type: 'run.paused' });
  });
});
