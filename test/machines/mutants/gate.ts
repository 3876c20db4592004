import { permitted } from '../../../src/machines/tool-call/tool-call-context.ts';
import { recover } from '../../../src/recovery/recover.ts';
import {
  APPROVED,
  ASKING,
  RECOVERING,
  RUNNING,
  action,
  always,
  asked,
  checked,
  failing,
  fixed,
  free,
  guard,
  mutant,
  plain,
  repairedBy,
  retry,
  team,
  told,
  waiting,
} from './gate-agents.ts';
import { type Mutant, becoming, callEdge, no, nothing, yes } from './mutant.ts';

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
  mutant('a run is not noted', action({ countRun: nothing }), checked('allow'), 'arguments'),
  mutant(
    'mended arguments count as run',
    action({ requireChecks: nothing }),
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
  mutant('an "always" from outside is not kept', guard({ alwaysApproved: no }), asked, 'asking'),
  mutant('an answer from outside for once is kept for good', guard({ alwaysApproved: yes }), asked, 'asking'),
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
];
