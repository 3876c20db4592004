import fc from 'fast-check';
import type { Model, ModelReply } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { OnError, RecoveryStep } from '../../src/recovery/steps.ts';
import type { Effects, Policy } from '../../src/tools/spec.ts';
import { type Tool, tool } from '../../src/tools/tool.ts';

/** A tool of a random agent: what it is allowed, what it does, and what is done about its errors. */
export interface ToolScript {
  readonly policy: Policy;
  readonly enabled: boolean;
  readonly effects: Effects;
  readonly behaviours: readonly string[];
  readonly onError: OnErrorScript;
}

interface StepScript {
  readonly kind: string;
  readonly gives: unknown;
  readonly times: number;
  readonly whenUnknown: boolean;
  readonly severity: string;
}

type SlotScript =
  | { readonly as: 'list' | 'function'; readonly steps: readonly StepScript[] }
  | { readonly as: 'nothing' };

type OnErrorScript = { readonly [slot: string]: SlotScript };

/** How a person answers: at once, by `run.approve` or `run.reject`, or never. */
export interface AnswerScript {
  readonly how: 'allow' | 'always' | 'deny' | 'edit' | 'edit-always' | 'never' | 'throw';
  readonly args: JsonObject;
}

/** A random agent, the calls that its model makes, and the answers of a person. */
export interface CallScript {
  readonly tools: readonly ToolScript[];
  readonly agentOnError: OnErrorScript;
  readonly turns: readonly { readonly plan: boolean; readonly calls: readonly (readonly [number, unknown])[] }[];
  readonly answers: readonly AnswerScript[];
  readonly wait: boolean;
  /** What `onEscalation` of the agent and of the one below it says, one after the other. */
  readonly verdicts: readonly string[];
  readonly parallel: boolean;
}

/** An execution as the tool itself saw it. */
export interface Execution {
  readonly index: number;
  readonly callId: string;
  readonly args: string;
  readonly behaviour: string;
}

const KINDS = 'fix sanitize retry retry fix-agent fix-model substitute inherit feedback escalate throw'.split(' ');
const SLOTS = ['invalidArgs', 'deserializationError', 'executionError', 'unknownTool'];
const goodArgs = fc.record({ n: fc.integer({ min: 0, max: 2 }) });
const anyArgs = fc.oneof(
  { weight: 3, arbitrary: goodArgs },
  fc.constantFrom<unknown>({}, { n: 'two' }, { n: 99 }, 'n is 1', '{"n": 1', '[1]', '{"n":1}{"n":2}', null),
);
const aCall = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.integer({ min: 0, max: 5 }), anyArgs) },
  { weight: 1, arbitrary: fc.constant([5, { task: 'Do it' }] as const) },
);
const given = fc.oneof(anyArgs, fc.constantFrom<unknown>(undefined, 7, 'throw', { n: 1 }, { n: 2 }));

const step: fc.Arbitrary<StepScript> = fc.record({
  kind: fc.constantFrom(...KINDS),
  gives: given,
  times: fc.integer({ min: 1, max: 12 }),
  whenUnknown: fc.constantFrom(false, false, false, false, true),
  severity: fc.constantFrom('low', 'medium', 'high', 'critical'),
});
const slot: fc.Arbitrary<SlotScript> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ as: fc.constant('list' as const), steps: fc.array(step, { maxLength: 4 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ as: fc.constant('function' as const), steps: fc.array(step, { maxLength: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ as: fc.constant('nothing' as const) }) },
);
const onError = fc.tuple(slot, slot, slot, slot).map((slots) => Object.fromEntries(slots.map((s, i) => [SLOTS[i], s])));

const aTool: fc.Arbitrary<ToolScript> = fc.record({
  policy: fc.constantFrom('allow', 'allow', 'confirm', 'deny'),
  enabled: fc.constantFrom(true, true, true, false),
  effects: fc.constantFrom('none', 'idempotent', 'once'),
  behaviours: fc.array(fc.constantFrom('good', 'throws', 'reports', 'lost', 'odd'), { minLength: 1, maxLength: 4 }),
  onError,
});

/** Random scripts. */
export const callScripts: fc.Arbitrary<CallScript> = fc.record({
  tools: fc.array(aTool, { minLength: 3, maxLength: 3 }),
  agentOnError: onError,
  turns: fc.array(
    fc.record({
      plan: fc.boolean(),
      calls: fc.array(aCall, { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  answers: fc.array(
    fc.record({
      how: fc.constantFrom('allow', 'always', 'deny', 'edit', 'edit-always', 'never', 'throw'),
      args: fc.oneof(goodArgs, fc.constantFrom<JsonObject>({ n: 'two' }, {})),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  wait: fc.boolean(),
  verdicts: fc.array(
    fc.constantFrom('model', 'agent', 'skill', 'partial', 'ask', 'up', 'worse', 'throw', 'nothing', 'broken'),
    { minLength: 1, maxLength: 4 },
  ),
  parallel: fc.boolean(),
});

/** The names that calls use: three tools, one that nobody has, a misspelt one, and an agent below. */
export const NAMES = ['first_tool', 'second_tool', 'third_tool', 'unheard_of', 'frist_tool', 'helper'];

/** The model's turns, each with its calls, and then an answer. */
export function modelOf({ turns }: CallScript): Model {
  const replies = turns.map(({ plan, calls }): ModelReply => {
    const named = calls.map(([index, args]) => ({ name: NAMES[index] ?? '', args }));
    if (!plan) return reply(named.map(({ name, args }) => ({ name, arguments: args })));
    return reply([
      { name: 'make_plan', arguments: { plan: named.map(({ name, args }) => ({ tool: name, tool_args: args })) } },
    ]);
  });
  let asked = 0;
  return { id: 'random', complete: async () => replies[asked++] ?? { content: 'Done.' } };
}

function reply(toolCalls: readonly { readonly name: string; readonly arguments: unknown }[]): ModelReply {
  return JSON.parse(JSON.stringify({ content: '', toolCalls }));
}

/** The tools of the random agent, which tell what they did. */
export function toolsOf({ tools }: CallScript, executed: Execution[]): readonly Tool[] {
  return tools.map((script, index) => {
    let count = 0;
    return tool({
      name: NAMES[index] ?? '',
      description: 'Random.',
      inputSchema: { type: 'object', properties: { n: { type: 'integer', maximum: 2 } }, required: ['n'] },
      policy: script.policy,
      enabled: script.enabled,
      effects: script.effects,
      onError: onErrorOf(script.onError),
      execute: (args, { callId }) => {
        const behaviour = script.behaviours[count++ % script.behaviours.length] ?? 'good';
        executed.push({ index, callId, args: JSON.stringify(args), behaviour });
        return behave(behaviour);
      },
    });
  });
}

function behave(behaviour: string): unknown {
  switch (behaviour) {
    case 'throws':
      throw new Error('it broke');
    case 'lost':
      throw Object.assign(new Error('the line went dead'), { code: 'unknown-outcome' });
    case 'reports':
      return { status: 'error', error: 'no luck', retryAfterMs: 1 };
    case 'odd':
      return new Map([[1, 2]]);
    default:
      return { fine: true };
  }
}

/** The slots as `onError` takes them; a list ends with its first step after which nothing can follow. */
export function onErrorOf(script: OnErrorScript): OnError {
  return Object.fromEntries(
    Object.entries(script).flatMap(([name, slotScript]) => {
      if (slotScript.as === 'nothing') return [];
      const end = slotScript.steps.findIndex(({ kind }) => ['feedback', 'escalate', 'throw'].includes(kind));
      const steps = slotScript.steps
        .slice(0, end === -1 ? undefined : end + 1)
        .map((one) => stepOf(one, name === 'executionError'));
      return [[name, slotScript.as === 'function' ? () => steps : steps]];
    }),
  );
}

function stepOf({ kind, gives, times, whenUnknown, severity }: StepScript, ofExecution: boolean): RecoveryStep {
  const give = (): never => {
    if (gives === 'throw') throw new Error('the fixer broke');
    return Reflect.get({ gives }, 'gives') as never;
  };
  switch (kind) {
    case 'fix':
      return recover.fix(give);
    case 'sanitize':
      return recover.sanitize(give);
    case 'substitute':
      return recover.substitute(give);
    case 'fix-agent':
      return recover.fix(createAgent({ implementedBy: give }), { retries: times });
    case 'fix-model':
      return recover.fix(createAgent({ model: fixerModel(gives, severity), silent: true }), { retries: times });
    case 'retry':
      return recover.retry({
        maxAttempts: times,
        whenUnknown: whenUnknown && ofExecution,
        ...(times % 2 === 0 ? { backoff: recover.constant(1) } : {}),
      });
    case 'inherit':
      return recover.inherit();
    case 'escalate':
      return recover.escalate('too much', severity);
    case 'throw':
      return recover.throwException('no further');
    default:
      return recover.feedback();
  }
}

/** A repair agent's model: mends by its text, hands up, ends the run, or cannot be asked. */
function fixerModel(gives: unknown, severity: string): Model {
  return {
    complete: async () => {
      if (gives === 'throw') throw new Error('no model');
      if (gives === 7) return reply([{ name: 'throwException', arguments: { reason: 'never' } }]);
      if (gives === undefined) return reply([{ name: 'escalate', arguments: { reason: 'not mine', severity } }]);
      return { content: typeof gives === 'string' ? gives : JSON.stringify(gives) };
    },
  };
}

/** What the agents' `onEscalation` says. */
export function verdictsOf({ verdicts }: CallScript): NonNullable<AgentOptions['onEscalation']> {
  let asked = 0;
  return (_error, to) => {
    switch (verdicts[asked++ % verdicts.length]) {
      case 'model':
        return to.retryWithModel('other');
      case 'agent':
        return to.reroute('helper');
      case 'skill':
        return to.reroute('nowhere');
      case 'partial':
        return to.partialResult('This is all.');
      case 'ask':
        return to.askHuman('Shall it go on?');
      case 'up':
        return to.escalate('not mine', 'low');
      case 'worse':
        return to.escalate('worse', 'critical');
      case 'throw':
        return to.throwException('enough');
      case 'broken':
        throw new Error('the handler broke');
      default:
        return null;
    }
  };
}
