import { and } from 'xstate';
import { toolCallParts } from './tool-call-parts.ts';
import { fixerInput, inputForRepairer, repairOf } from './tool-recovery.ts';

// The first place that an XState of before 5.21 cannot pass. npm refuses to install one; other package managers only warn.
if (typeof toolCallParts.createStateConfig !== 'function')
  throw Object.assign(
    new Error(
      'signalbox needs xstate 5.33.3 or newer, and an older 5.x is installed. Install it: npm install xstate@5',
    ),
    { code: 'xstate-too-old' },
  );

/** Asks the author's function for other arguments; without any, the next step is chosen. */
const repairing = (ask: 'fix' | 'sanitize') =>
  toolCallParts.createStateConfig({
    invoke: {
      id: ask,
      src: 'runFixer',
      input: ({ context }) => fixerInput(context, ask),
      onDone: [
        {
          guard: { type: 'returnedArguments', params: ({ event }) => event.output },
          target: '#toolCall.VALIDATING',
          actions: { type: 'takeRepair', params: ({ event }) => event.output },
        },
        { target: 'CHOOSING_STEP' },
      ],
      onError: 'CHOOSING_STEP',
    },
  });

/**
 * The part of the toolCall machine that repairs: it takes the steps of the error's `onError` slot one after the other,
 * each a state, and leaves for VALIDATING with something to try, or for one of the ends. A call that ran and failed is
 * run again unchanged without another check or question.
 */
export const recovering = toolCallParts.createStateConfig({
  entry: 'startRecovery',
  initial: 'CHOOSING_STEP',
  states: {
    CHOOSING_STEP: {
      always: [
        { guard: 'stepsToBeChosen', target: 'ASKING_SLOT' },
        { target: 'NEXT_STEP', actions: 'chooseStep' },
      ],
    },
    ASKING_SLOT: {
      invoke: {
        id: 'chooseSteps',
        src: 'runFixer',
        input: ({ context }) => fixerInput(context, 'steps'),
        onDone: { target: 'CHOOSING_STEP', actions: { type: 'takeSteps', params: ({ event }) => event.output } },
        onError: { target: 'CHOOSING_STEP', actions: 'useNoSteps' },
      },
    },
    NEXT_STEP: {
      always: [
        { guard: { type: 'stepIs', params: 'fix' }, target: 'FIXING' },
        { guard: { type: 'stepIs', params: 'sanitize' }, target: 'SANITIZING' },
        { guard: 'budgetForbidsRepair', target: 'CHOOSING_STEP' },
        { guard: { type: 'stepIs', params: 'fix-agent' }, target: 'ASKING_REPAIR_AGENT' },
        { guard: { type: 'stepIs', params: 'substitute' }, target: 'SUBSTITUTING' },
        { guard: 'retriesWithoutDelay', target: 'RETRYING' },
        { guard: { type: 'stepIs', params: 'retry' }, target: 'BACKING_OFF' },
        { guard: { type: 'stepIs', params: 'escalate' }, target: '#toolCall.ESCALATED', actions: 'giveUp' },
        { guard: { type: 'stepIs', params: 'throw' }, target: '#toolCall.THROWN', actions: 'giveUp' },
        { target: '#toolCall.FED_BACK' },
      ],
    },
    FIXING: repairing('fix'),
    SANITIZING: repairing('sanitize'),
    ASKING_REPAIR_AGENT: {
      invoke: {
        id: 'repairAgent',
        src: 'runFixer',
        input: ({ context }) => fixerInput(context, 'fix-agent'),
        onDone: [
          {
            guard: { type: 'runsAsAgent', params: ({ event }) => event.output },
            target: 'RUNNING_REPAIR_AGENT',
            actions: { type: 'takeRepairer', params: ({ event }) => event.output },
          },
          {
            guard: { type: 'escalated', params: ({ event }) => event.output },
            target: '#toolCall.ESCALATED',
            actions: [
              { type: 'countRepair', params: ({ event }) => event.output },
              { type: 'giveUpByFixer', params: ({ event }) => event.output },
            ],
          },
          {
            guard: { type: 'repairThrew', params: ({ event }) => event.output },
            target: '#toolCall.THROWN',
            actions: [
              { type: 'countRepair', params: ({ event }) => event.output },
              { type: 'giveUpByFixer', params: ({ event }) => event.output },
            ],
          },
          {
            guard: { type: 'returnedArguments', params: ({ event }) => event.output },
            target: '#toolCall.VALIDATING',
            actions: [
              { type: 'countRepair', params: ({ event }) => event.output },
              { type: 'takeRepair', params: ({ event }) => event.output },
            ],
          },
          { target: 'CHOOSING_STEP', actions: { type: 'countRepair', params: ({ event }) => event.output } },
        ],
        onError: 'CHOOSING_STEP',
      },
    },
    RUNNING_REPAIR_AGENT: {
      exit: 'countStopped',
      on: { 'tools.changed': { actions: ['applyStricterPolicy', 'forwardToRepairer'] } },
      after: { repairTime: 'CHOOSING_STEP' },
      invoke: {
        id: 'childAgent',
        src: 'childAgent',
        input: ({ context }) => inputForRepairer(context),
        onDone: [
          {
            guard: { type: 'escalated', params: ({ context, event }) => repairOf(context, event.output) },
            target: '#toolCall.ESCALATED',
            actions: [
              { type: 'countSpent', params: ({ event }) => event.output },
              { type: 'giveUpByFixer', params: ({ context, event }) => repairOf(context, event.output) },
            ],
          },
          {
            guard: { type: 'repairThrew', params: ({ context, event }) => repairOf(context, event.output) },
            target: '#toolCall.THROWN',
            actions: [
              { type: 'countSpent', params: ({ event }) => event.output },
              { type: 'giveUpByFixer', params: ({ context, event }) => repairOf(context, event.output) },
            ],
          },
          {
            guard: { type: 'returnedArguments', params: ({ context, event }) => repairOf(context, event.output) },
            target: '#toolCall.VALIDATING',
            actions: [
              { type: 'countSpent', params: ({ event }) => event.output },
              { type: 'takeRepair', params: ({ context, event }) => repairOf(context, event.output) },
            ],
          },
          { target: 'CHOOSING_STEP', actions: { type: 'countSpent', params: ({ event }) => event.output } },
        ],
        onError: 'CHOOSING_STEP',
      },
    },
    SUBSTITUTING: {
      invoke: {
        id: 'substitute',
        src: 'runFixer',
        input: ({ context }) => fixerInput(context, 'substitute'),
        onDone: [
          {
            guard: { type: 'returnedResult', params: ({ event }) => event.output },
            target: '#toolCall.SUCCEEDED',
            actions: { type: 'takeSubstitute', params: ({ event }) => event.output },
          },
          { target: 'CHOOSING_STEP' },
        ],
        onError: 'CHOOSING_STEP',
      },
    },
    BACKING_OFF: { after: { pause: 'RETRYING' } },
    RETRYING: {
      always: [
        { guard: and(['mayRunAgain', 'delegates']), target: '#toolCall.DELEGATING', actions: 'forgetError' },
        { guard: 'mayRunAgain', target: '#toolCall.RUNNING', actions: 'forgetError' },
        { target: '#toolCall.VALIDATING', actions: 'forgetError' },
      ],
    },
  },
});
