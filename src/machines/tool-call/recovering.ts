import { withOutput } from '../contract/assign.ts';
import { and } from 'xstate';
import type { AgentOutput } from '../contract/run-result.ts';
import type { ToolCallContext } from './tool-call-context.ts';
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

/** What gets the repair that a repair agent has answered with. */
const withRepair = <T extends string>(type: T) => ({
  type,
  params: ({
    context,
    event,
  }: {
    readonly context: ToolCallContext;
    readonly event: { readonly output: AgentOutput };
  }) => repairOf(context, event.output),
});

/** Asks the author's function for other arguments; without any, the next step is chosen. */
const repairing = (ask: 'fix' | 'sanitize') =>
  toolCallParts.createStateConfig({
    invoke: {
      id: ask,
      src: 'runFixer',
      input: ({ context }) => fixerInput(context, ask),
      onDone: [
        { guard: withOutput('returnedArguments'), target: '#toolCall.VALIDATING', actions: withOutput('takeRepair') },
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
        onDone: { target: 'CHOOSING_STEP', actions: withOutput('takeSteps') },
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
          { guard: withOutput('runsAsAgent'), target: 'RUNNING_REPAIR_AGENT', actions: withOutput('takeRepairer') },
          {
            guard: withOutput('escalated'),
            target: '#toolCall.ESCALATED',
            actions: [withOutput('countRepair'), withOutput('giveUpByFixer')],
          },
          {
            guard: withOutput('repairThrew'),
            target: '#toolCall.THROWN',
            actions: [withOutput('countRepair'), withOutput('giveUpByFixer')],
          },
          {
            guard: withOutput('returnedArguments'),
            target: '#toolCall.VALIDATING',
            actions: [withOutput('countRepair'), withOutput('takeRepair')],
          },
          { target: 'CHOOSING_STEP', actions: withOutput('countRepair') },
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
            guard: withRepair('escalated'),
            target: '#toolCall.ESCALATED',
            actions: [withOutput('countSpent'), withRepair('giveUpByFixer')],
          },
          {
            guard: withRepair('repairThrew'),
            target: '#toolCall.THROWN',
            actions: [withOutput('countSpent'), withRepair('giveUpByFixer')],
          },
          {
            guard: withRepair('returnedArguments'),
            target: '#toolCall.VALIDATING',
            actions: [withOutput('countSpent'), withRepair('takeRepair')],
          },
          { target: 'CHOOSING_STEP', actions: withOutput('countSpent') },
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
          { guard: withOutput('returnedResult'), target: '#toolCall.SUCCEEDED', actions: withOutput('takeSubstitute') },
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
