import { permitted } from '../../../src/machines/tool-call/tool-call-context.ts';
import {
  ASKING,
  RUNNING,
  action,
  agentAction,
  asked,
  checked,
  free,
  guard,
  mutant,
  plain,
  questioned,
  team,
  told,
  waiting,
} from './gate-agents.ts';
import { type Mutant, becoming, callEdge, no, nothing, yes } from './mutant.ts';

/** What must not happen to what is edited, denied, waited for, or becomes stricter. */
export const CHANGE_MUTANTS: readonly Mutant[] = [
  // Edited arguments.
  mutant('edits are not taken', action({ takeEdits: nothing }), asked, 'asking'),
  mutant('edits are forgotten', guard({ approvedWithEdits: no }), asked, 'asking'),
  mutant('edits that are kept for good are not checked', guard({ editsNeedChecking: no }), asked, 'asking'),
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
        action({ applyStricterPolicy: nothing }),
        checked('allow'),
        'permission',
      ),
      becoming(policy, 'live'),
    ),
  ),
  told(
    mutant(
      'a call that waits may be approved though it is denied',
      guard({ policyTightened: no }),
      asked,
      'permission',
    ),
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
    mutant('a run that is taken up again lets a call go on', guard({ mustBeCheckedAgain: no }), free, 'permission'),
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
    mutant('a call that runs is run twice', guard({ mustBeCheckedAgain: yes }), free, 'recovery'),
    becoming('allow', 'live'),
  ),
  told(
    mutant(
      'an outcome that is still to come is dropped',
      guard({
        mustBeCheckedAgain: ({ context, event }) =>
          event.type === 'tools.changed' && permitted({ ...context, spec: event.toolset.tools[0] ?? null }) !== 'run',
      }),
      free,
      'denials',
    ),
    becoming('deny', 'once'),
  ),
  told(
    mutant('calls are not told of a change', agentAction({ forwardToCalls: nothing }), checked('allow'), 'permission'),
    becoming('deny', 'live'),
  ),
  told(
    mutant(
      'the step of a plan is not told of a change',
      agentAction({ forwardToStep: nothing }),
      { ...checked('allow'), maxSteps: 2 },
      'permission',
    ),
    becoming('deny', 'live'),
  ),
  told(
    mutant('an agent below is not told of a change', action({ forwardToChild: nothing }), team('allow'), 'permission'),
    becoming('deny', 'live'),
  ),
  told(
    mutant('later calls do not hear of a change', agentAction({ takeTools: nothing }), free, 'permission'),
    becoming('deny', 'live'),
  ),
];
