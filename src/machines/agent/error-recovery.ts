import { withOutput } from '../contract/assign.ts';
import { agentParts } from './agent-parts.ts';
import { escalationInput, handOverInput, questionInput } from './escalating.ts';

/**
 * The part of the agent machine that decides what follows from calls that failed for good: an escalation is decided,
 * passed to the agent above or ends the run; everything else is reported to the model, which finds another way.
 */
export const errorRecovery = agentParts.createStateConfig({
  entry: { type: 'enter', params: 'ERROR_RECOVERY' },
  initial: 'ASSESSING',
  states: {
    ASSESSING: {
      always: [
        { guard: 'escalationPending', target: 'ESCALATING' },
        { guard: 'escalatesToParent', target: '#agent.COMPLETION', actions: 'endEscalated' },
        { guard: 'escalationIsCritical', target: '#agent.COMPLETION', actions: 'endEscalated' },
        { target: '#agent.PLANNING', actions: 'reportFailure' },
      ],
    },
    ESCALATING: {
      invoke: {
        id: 'askEscalation',
        src: 'askEscalation',
        input: ({ context }) => escalationInput(context),
        onDone: { target: 'JUDGED', actions: withOutput('takeVerdict') },
        onError: { target: 'JUDGED', actions: 'takeNoVerdict' },
      },
    },
    JUDGED: {
      always: [
        { guard: 'verdictIsRetry', target: '#agent.PLANNING', actions: 'switchModelOnce' },
        { guard: 'verdictIsRerouteToAgent', target: 'HANDING_OVER' },
        { guard: 'verdictIsRerouteToSkill', target: '#agent.PLANNING', actions: 'limitToSkill' },
        { guard: 'verdictIsAskHuman', target: 'ASKING_HUMAN' },
        { guard: 'verdictIsPartialResult', target: '#agent.COMPLETION', actions: 'endPartially' },
        { guard: 'verdictIsThrow', target: '#agent.COMPLETION', actions: 'endByVerdict' },
        { target: 'ASSESSING' },
      ],
    },
    HANDING_OVER: {
      exit: 'countStopped',
      on: { 'tools.changed': { actions: ['takeTools', 'forwardToChild'] } },
      invoke: {
        id: 'childAgent',
        src: 'childAgent',
        input: ({ context }) => handOverInput(context),
        onDone: [
          { guard: withOutput('childFailed'), target: 'ASSESSING', actions: withOutput('takeFailedHandOver') },
          { guard: 'handOverToCheck', target: '#agent.PLANNING.DELIVERING', actions: withOutput('takeHandOverAnswer') },
          { target: '#agent.COMPLETION', actions: withOutput('takeHandOver') },
        ],
        onError: { target: 'ASSESSING', actions: 'takeNoVerdict' },
      },
    },
    ASKING_HUMAN: {
      entry: 'startDeadline',
      exit: 'stopDeadline',
      on: {
        'approval.given': { target: '#agent.PLANNING', actions: 'addAnswer' },
        'approval.refused': { target: '#agent.PLANNING', actions: 'addAnswer' },
        'approval.expired': { target: 'ASSESSING', actions: 'takeNoVerdict' },
      },
      invoke: {
        id: 'askApproval',
        src: 'askApproval',
        input: ({ context }) => questionInput(context),
        onDone: [
          { guard: withOutput('nobodyToAsk'), target: 'ASSESSING', actions: 'takeNoVerdict' },
          { target: '#agent.PLANNING', actions: withOutput('addDecision') },
        ],
        onError: { target: 'ASSESSING', actions: 'takeNoVerdict' },
      },
    },
  },
});
