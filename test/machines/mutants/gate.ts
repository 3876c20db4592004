import { createAgent } from '../../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../../src/agent/options.ts';
import { agentMachine } from '../../../src/machines/agent.ts';
import { toolCallMachine } from '../../../src/machines/tool-call.ts';
import { permitted } from '../../../src/machines/tool-call-context.ts';
import { recover } from '../../../src/recovery/recover.ts';
import type { OnError } from '../../../src/recovery/steps.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import type { Policy } from '../../../src/tools/spec.ts';
import { tool } from '../../../src/tools/tool.ts';
import { type Mutant, becoming, callEdge, no, nothing, yes } from './mutant.ts';

type CallGuards = NonNullable<Parameters<typeof toolCallMachine.provide>[0]['guards']>;
type CallActions = NonNullable<Parameters<typeof toolCallMachine.provide>[0]['actions']>;
type AgentActions = NonNullable<Parameters<typeof agentMachine.provide>[0]['actions']>;

const guard = (guards: CallGuards) =>
  agentMachine.provide({ actors: { toolCall: toolCallMachine.provide({ guards }) } });
const action = (actions: CallActions) =>
  agentMachine.provide({ actors: { toolCall: toolCallMachine.provide({ actions }) } });
const agentAction = (actions: AgentActions) => agentMachine.provide({ actions });

const retry = recover.retry({ maxAttempts: 2 });
const schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
const failing = { executionError: retry };

/** A tool whose arguments are checked by code, in an agent of its own. */
const checked = (policy: Policy, onError: OnError = failing): AgentOptions => ({
  tools: [
    tool({
      name: 'checked',
      description: 'Checks.',
      policy,
      inputSchema: schema,
      validateArgs: (args) => args,
      execute: () => null,
      onError,
    }),
  ],
  maxSteps: 1,
});
const plain = (policy: Policy, onError: OnError = {}, more: AgentOptions = {}): AgentOptions => ({
  tools: [fakeTool('plain', [1], { policy, onError, effects: 'none' })],
  maxSteps: 1,
  ...more,
});
const asked = plain('confirm');
const free = plain('allow');
const always = { isAlwaysAllowed: () => true, add: () => undefined };
const worker = createAgent({
  name: 'worker',
  model: scriptedModel([]),
  tools: [fakeTool('dig', [1], { effects: 'none' })],
  silent: true,
  maxSteps: 1,
});
const team = (defaultPolicy: Policy): AgentOptions => ({ children: [worker], defaultPolicy, maxSteps: 1 });
const waiting = plain('confirm', {}, { timeouts: { approvalMs: 100 } });
const questioned: AgentOptions = {
  tools: [fakeTool('hard', [1], { onError: { executionError: recover.escalate('too hard') } })],
  onEscalation: () => null,
  timeouts: { approvalMs: 100 },
  maxSteps: 2,
};
const fixed = (step: 'fix' | 'sanitize'): OnError => ({ executionError: [recover[step](() => null), retry] });
const repairedBy = createAgent({ name: 'mender', implementedBy: () => null });

const RUNNING = '#toolCall.RUNNING';
const APPROVED = '#toolCall.AWAITING_APPROVAL.APPROVED';
const ASKING = 'states.AWAITING_APPROVAL.states.ASKING';
const RECOVERING = 'states.RECOVERING.states';

const mutant = (wrong: string, machine: Mutant['machine'], agent: AgentOptions, law: string): Mutant => ({
  wrong,
  machine,
  agent,
  law,
});
const told = (given: Mutant, events: NonNullable<Mutant['events']>): Mutant => ({ ...given, events });

/** What must not happen between a call and its tool. */
export const GATE_MUTANTS: readonly Mutant[] = [
  // The way back from a failure.
  mutant(
    'a check that fails itself leads its retry past approval',
    guard({ mayRunAgain: ({ context }) => context.error?.kind === 'execution' }),
    checked('confirm'),
    'permission',
  ),
  mutant(
    'a check that fails itself leads its retry past the check',
    guard({ mayRunAgain: ({ context }) => context.error?.kind === 'execution' }),
    checked('allow'),
    'arguments',
  ),
  mutant(
    'whatever is retried runs',
    guard({ mayRunAgain: yes }),
    plain('confirm', { deserializationError: retry, invalidArgs: retry }),
    'permission',
  ),
  mutant('what had run as it stands is checked anew', guard({ mayRunAgain: no }), checked('allow'), 'arguments'),
  mutant(
    'a retry looks at permission alone',
    guard({ mayRunAgain: ({ context }) => permitted(context) === 'run' }),
    checked('allow'),
    'arguments',
  ),
  told(
    mutant(
      'a retry does not look at permission',
      guard({ mayRunAgain: ({ context }) => context.ran.asItStands }),
      plain('allow', failing),
      'permission',
    ),
    becoming('deny', 'live'),
  ),
  mutant('a run is not noted', action({ noteRun: nothing }), checked('allow'), 'arguments'),
  mutant(
    'mended arguments count as run',
    action({ standAtGate: nothing }),
    checked('allow', fixed('fix')),
    'arguments',
  ),
  mutant(
    'what fails without having run is run',
    callEdge(`${RECOVERING}.RETRYING.always.2.target`, RUNNING),
    checked('allow'),
    'arguments',
  ),
  mutant(
    'a pause leads past the gate',
    callEdge(`${RECOVERING}.BACKING_OFF.after.pause`, RUNNING),
    checked('allow', { executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(5) }) }),
    'arguments',
  ),
  mutant(
    'fixed arguments are not checked',
    callEdge(`${RECOVERING}.FIXING.invoke.onDone.0.target`, RUNNING),
    checked('confirm', fixed('fix')),
    'permission',
  ),
  mutant(
    'sanitized arguments are not checked',
    callEdge(`${RECOVERING}.SANITIZING.invoke.onDone.0.target`, RUNNING),
    checked('allow', fixed('sanitize')),
    'arguments',
  ),
  mutant(
    'arguments of a repair agent are not checked',
    callEdge(`${RECOVERING}.ASKING_REPAIR_AGENT.invoke.onDone.2.target`, RUNNING),
    checked('confirm', { executionError: recover.fix(repairedBy) }),
    'permission',
  ),
  mutant(
    'a check that fails itself counts as passed',
    callEdge('states.VALIDATING.states.CHECKING_CODE.invoke.onError.target', 'CHECKED'),
    checked('allow'),
    'arguments',
  ),
  mutant(
    'a failed run counts as a success',
    callEdge('states.RUNNING.invoke.onError.target', 'SUCCEEDED'),
    free,
    'routes',
  ),

  // Who is asked.
  mutant(
    'no approval before a child',
    guard({ needsApproval: ({ context }) => permitted(context) === 'ask' && context.spec?.origin.kind !== 'agent' }),
    team('confirm'),
    'permission',
  ),
  mutant('a child that is denied starts', guard({ policyDenies: no }), team('deny'), 'permission'),
  mutant(
    'an "always" is not heeded',
    guard({ needsApproval: ({ context }) => context.spec?.policy === 'confirm' && !context.approved }),
    { ...asked, permissions: always },
    'asking',
  ),
  mutant(
    'an approval is not heeded',
    guard({ needsApproval: ({ context }) => context.spec?.policy === 'confirm' }),
    asked,
    'asking',
  ),
  mutant(
    'everybody is asked about everything',
    guard({ needsApproval: ({ context }) => !context.approved }),
    free,
    'asking',
  ),
  mutant('an "always" is not kept', guard({ alwaysAllowed: no }), asked, 'asking'),
  mutant('an answer for once is kept for good', guard({ alwaysAllowed: yes }), asked, 'asking'),
  mutant('an "always" from outside is not kept', guard({ givenForGood: no }), asked, 'asking'),
  mutant('an answer from outside for once is kept for good', guard({ givenForGood: yes }), asked, 'asking'),
  mutant('approval is not remembered while edits are checked', action({ approve: nothing }), asked, 'asking'),
  mutant(
    'a tool that must be asked about runs',
    callEdge('states.VALIDATING.states.CHECKED.always.1.target', RUNNING),
    asked,
    'permission',
  ),
  mutant(
    'what cannot be asked is approved',
    callEdge(`${ASKING}.invoke.onError.target`, APPROVED),
    asked,
    'permission',
  ),
  mutant(
    'a refusal by the callback approves',
    callEdge(`${ASKING}.invoke.onDone.1.target`, APPROVED),
    asked,
    'permission',
  ),
  mutant(
    'a refusal from outside approves',
    callEdge('states.AWAITING_APPROVAL.on.approval·refused', { target: RUNNING }),
    asked,
    'permission',
  ),
  mutant(
    'silence approves',
    callEdge('states.AWAITING_APPROVAL.on.approval·expired', { target: RUNNING }),
    waiting,
    'permission',
  ),

  // Edited arguments.
  mutant('edits are not taken', action({ takeEdits: nothing }), asked, 'asking'),
  mutant('edits are forgotten', guard({ givenWithEdits: no }), asked, 'asking'),
  mutant('edits that are kept for good are not checked', guard({ editsUnchecked: no }), asked, 'asking'),
  mutant('edits run at once', callEdge(`${ASKING}.on.approval·given.1.target`, RUNNING), checked('confirm'), 'asking'),

  // Denials.
  mutant('an agreement counts as a refusal', guard({ refused: yes }), asked, 'denials'),
  mutant('somebody who answers counts as nobody', guard({ nobodyToAsk: yes }), asked, 'denials'),
  mutant('a denial does not say why', action({ deny: nothing }), plain('deny'), 'denials'),
  mutant('everything is denied', guard({ policyDenies: yes }), free, 'denials'),
  mutant('everything is switched off', guard({ toolDisabled: yes }), free, 'denials'),
  mutant(
    'an "always" that cannot be kept denies',
    callEdge('states.AWAITING_APPROVAL.states.REMEMBERING.invoke.onError', '#toolCall.DENIED'),
    asked,
    'denials',
  ),
  mutant(
    'an "always" that was kept denies',
    callEdge('states.AWAITING_APPROVAL.states.REMEMBERING.invoke.onDone', '#toolCall.DENIED'),
    asked,
    'denials',
  ),
  mutant(
    'what is denied goes round and round',
    callEdge('states.AUTHORIZING.always.0.target', 'VALIDATING'),
    plain('deny'),
    'ends',
  ),

  // Deadlines.
  mutant('the deadline of an approval is not disarmed', action({ stopDeadline: nothing }), waiting, 'deadlines'),
  mutant('an approval has no deadline', action({ startDeadline: nothing }), waiting, 'deadlines'),
  mutant('the deadline of a question is not disarmed', agentAction({ stopDeadline: nothing }), questioned, 'deadlines'),
  mutant('a question has no deadline', agentAction({ startDeadline: nothing }), questioned, 'deadlines'),

  // What becomes stricter.
  ...(['deny', 'confirm'] as const).map((policy) =>
    told(
      mutant(
        `a call under way does not hear of ${policy}`,
        action({ takeStricter: nothing }),
        checked('allow'),
        'permission',
      ),
      becoming(policy, 'live'),
    ),
  ),
  told(
    mutant('a call that waits may be approved though it is denied', guard({ barredNow: no }), asked, 'permission'),
    becoming('deny', 'live'),
  ),
  told(
    mutant(
      'what was checked meanwhile runs though it is denied',
      callEdge('states.VALIDATING.states.CHECKED.always.0.target', RUNNING),
      checked('allow'),
      'permission',
    ),
    becoming('deny', 'live'),
  ),
  told(
    mutant('a run that is taken up again lets a call go on', guard({ mustStandAgain: no }), free, 'permission'),
    becoming('deny', 'restart'),
  ),
  told(
    mutant(
      'a run that is taken up again lets an agent below go on',
      callEdge('states.DELEGATING.on.tools·changed.0.target', undefined),
      team('allow'),
      'permission',
    ),
    becoming('confirm', 'restart'),
  ),
  told(
    mutant('a call that runs is run twice', guard({ mustStandAgain: yes }), free, 'recovery'),
    becoming('allow', 'live'),
  ),
  told(
    mutant(
      'an outcome that is still to come is dropped',
      guard({
        mustStandAgain: ({ context, event }) =>
          event.type === 'tools.changed' && permitted({ ...context, spec: event.toolset.tools[0] ?? null }) !== 'run',
      }),
      free,
      'denials',
    ),
    becoming('deny', 'once'),
  ),
  told(
    mutant('calls are not told of a change', agentAction({ tellCalls: nothing }), checked('allow'), 'permission'),
    becoming('deny', 'live'),
  ),
  told(
    mutant(
      'the step of a plan is not told of a change',
      agentAction({ tellStep: nothing }),
      { ...checked('allow'), maxSteps: 2 },
      'permission',
    ),
    becoming('deny', 'live'),
  ),
  told(
    mutant('an agent below is not told of a change', action({ tellChild: nothing }), team('allow'), 'permission'),
    becoming('deny', 'live'),
  ),
  told(
    mutant('later calls do not hear of a change', agentAction({ takeTools: nothing }), free, 'permission'),
    becoming('deny', 'live'),
  ),
];
