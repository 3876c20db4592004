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
        onDone: { target: 'JUDGED', actions: { type: 'takeVerdict', params: ({ event }) => event.output } },
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
          {
            guard: { type: 'childFailed', params: ({ event }) => event.output },
            target: 'ASSESSING',
            actions: { type: 'takeFailedHandOver', params: ({ event }) => event.output },
          },
          {
            guard: 'handOverToCheck',
            target: '#agent.PLANNING.DELIVERING',
            actions: { type: 'takeHandOverAnswer', params: ({ event }) => event.output },
          },
          {
            target: '#agent.COMPLETION',
            actions: { type: 'takeHandOver', params: ({ event }) => event.output },
          },
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
          {
            guard: { type: 'nobodyToAsk', params: ({ event }) => event.output },
            target: 'ASSESSING',
            actions: 'takeNoVerdict',
          },
          {
            target: '#agent.PLANNING',
            actions: { type: 'addDecision', params: ({ event }) => event.output },
          },
        ],
        onError: { target: 'ASSESSING', actions: 'takeNoVerdict' },
      },
    },
  },
});
