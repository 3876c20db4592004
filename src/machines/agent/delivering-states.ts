import { and } from 'xstate';
import { agentParts } from './agent-parts.ts';
import { outputToCheck } from './delivering.ts';

/**
 * The part of the agent machine that judges an answer that has a schema: one that fits, and that the author's own code
 * accepts, ends the run; for any other the model is told what is wrong, twice at most.
 */
export const delivering = agentParts.createStateConfig({
  initial: 'FITTING',
  states: {
    FITTING: {
      always: [
        { guard: 'steeredOn', target: '#agent.PLANNING.CHECKING_BUDGET', actions: 'setOutputAside' },
        { guard: and(['outputFits', 'outputCheckedByCode']), target: 'CHECKING' },
        { guard: 'outputFits', target: '#agent.COMPLETION', actions: 'deliverOutput' },
        { target: 'CORRECTING' },
      ],
    },
    CHECKING: {
      invoke: {
        id: 'checkOutput',
        src: 'checkOutput',
        input: ({ context }) => outputToCheck(context),
        onDone: [
          { guard: 'steeredOn', target: '#agent.PLANNING.CHECKING_BUDGET', actions: 'setOutputAside' },
          {
            guard: { type: 'outputAccepted', params: ({ event }) => event.output },
            target: '#agent.COMPLETION',
            actions: { type: 'deliverChecked', params: ({ event }) => event.output },
          },
          { target: 'CORRECTING', actions: { type: 'takeOutputProblems', params: ({ event }) => event.output } },
        ],
        onError: { target: '#agent.COMPLETION', actions: 'endOutputUnchecked' },
      },
    },
    CORRECTING: {
      always: [
        { guard: 'isLastTurn', target: '#agent.COMPLETION', actions: 'endAtLimit' },
        { guard: 'correctionsLeft', target: '#agent.PLANNING.CHECKING_BUDGET', actions: 'correctOutput' },
        { target: '#agent.COMPLETION', actions: 'endOutputInvalid' },
      ],
    },
  },
});
