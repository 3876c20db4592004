import { assign } from 'xstate';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { toolCallMachine } from '../../../src/machines/tool-call/tool-call.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { type Mutant, no, yes } from './mutant.ts';
import {
  look,
  search,
  asking,
  deciding,
  forbidden,
  retrying,
  pausing,
  switchedOff,
  checked,
  mended,
  chosen,
} from './tools.ts';

type CallGuards = Parameters<typeof toolCallMachine.provide>[0]['guards'];
type CallActions = Parameters<typeof toolCallMachine.provide>[0]['actions'];

const callGuard = (guards: NonNullable<CallGuards>) =>
  agentMachine.provide({ actors: { toolCall: toolCallMachine.provide({ guards }) } });
const callAction = (actions: NonNullable<CallActions>) =>
  agentMachine.provide({ actors: { toolCall: toolCallMachine.provide({ actions }) } });

/** What must not happen to a call. */
export const CALL_MUTANTS: readonly Mutant[] = [
  {
    wrong: 'the deny gate is gone',
    machine: callGuard({ policyDenies: no }),
    agent: { tools: [forbidden] },
    law: 'permission',
  },
  {
    wrong: 'the approval gate is gone',
    machine: callGuard({ needsApproval: no }),
    agent: { tools: [asking] },
    law: 'permission',
  },
  {
    wrong: 'a refusal counts as an approval',
    machine: callGuard({ refused: no }),
    agent: { tools: [asking] },
    law: 'permission',
  },
  {
    wrong: 'nobody to ask counts as an approval',
    machine: callGuard({ nobodyToAsk: no, refused: (_, { decision }) => decision === 'deny' }),
    agent: { tools: [asking] },
    law: 'permission',
  },
  {
    wrong: 'nobody to ask counts as a person who refuses',
    machine: callGuard({ nobodyToAsk: no }),
    agent: { tools: [asking] },
    law: 'denials',
  },
  {
    wrong: 'a tool that is switched off counts as denied by its policy',
    machine: callGuard({ toolDisabled: no }),
    agent: { tools: [switchedOff] },
    law: 'denials',
  },
  {
    wrong: 'a tool that is unknown counts as denied',
    machine: callGuard({ toolUnknown: no }),
    agent: { tools: [look] },
    law: 'denials',
  },
  {
    wrong: 'arguments that were cut off are run',
    machine: callGuard({ argumentsUnreadable: no }),
    agent: { tools: [look] },
    law: 'arguments',
  },
  {
    wrong: 'arguments that do not fit are run',
    machine: callGuard({ argumentsInvalid: no }),
    agent: { tools: [search] },
    law: 'arguments',
  },
  {
    wrong: 'the check by code is skipped',
    machine: callGuard({ checkedByCode: no }),
    agent: { tools: [checked] },
    law: 'arguments',
  },
  {
    wrong: 'a check is asked that a tool does not have',
    machine: callGuard({ checkedByCode: yes }),
    agent: { tools: [search] },
    law: 'arguments',
  },
  {
    wrong: 'the check by code is not heard',
    machine: callGuard({ codeRejects: no }),
    agent: { tools: [checked] },
    law: 'arguments',
  },
  {
    wrong: 'the check by code rejects what it accepts',
    machine: callGuard({ codeRejects: yes }),
    agent: { tools: [checked] },
    law: 'routes',
  },
  {
    wrong: 'an error that a tool reports counts as success',
    machine: callGuard({ toolReportsError: no }),
    agent: { tools: [look] },
    law: 'recovery',
  },
  {
    wrong: 'a success counts as an error',
    machine: callGuard({ toolReportsError: yes }),
    agent: { tools: [look] },
    law: 'recovery',
  },
  {
    wrong: 'the loop guard is ignored',
    machine: callGuard({ loopRefused: no }),
    agent: { tools: [look], maxConsecutiveRepeats: 2 },
    law: 'loops',
  },
  {
    wrong: 'every call is a loop',
    machine: callGuard({ loopRefused: yes }),
    agent: { tools: [look] },
    law: 'routes',
  },
  {
    wrong: 'the retry is skipped',
    machine: callGuard({ stepIs: no, retriesWithoutDelay: no }),
    agent: { tools: [retrying] },
    law: 'recovery',
  },
  {
    wrong: 'the pause before a retry is skipped',
    machine: callGuard({ retriesWithoutDelay: yes }),
    agent: { tools: [pausing] },
    law: 'ends',
  },
  {
    wrong: 'an author’s function is not asked for steps',
    machine: callGuard({ stepsToBeChosen: no }),
    agent: { tools: [chosen] },
    law: 'recovery',
  },
  ...(['fix', 'sanitize', 'substitute'] as const).map((kind) => ({
    wrong: `the step ${kind} is skipped`,
    machine: callGuard({ stepIs: no }),
    agent: { tools: [mended(kind)] },
    law: 'recovery',
  })),
  {
    wrong: 'once is repeated after an unknown outcome',
    machine: callAction({
      failAsExecution: assign({
        error: ({ context }) => ({
          kind: 'execution',
          tool: context.spec?.name ?? '',
          args: context.args,
          cause: { name: 'Error', message: 'forgot' },
          timedOut: false,
        }),
      }),
    }),
    agent: { tools: [retrying] },
    law: 'once',
  },
  {
    wrong: 'what the code of a tool accepts counts as approved',
    machine: callAction({
      takeCheckedArgs: assign((_, output) => (output.ok ? { args: output.args, approved: true } : {})),
    }),
    agent: { tools: [deciding] },
    law: 'permission',
  },
  {
    wrong: 'a person is asked though the code of the tool says that nobody need be',
    machine: callAction({ takeCheckedArgs: assign((_, output) => (output.ok ? { args: output.args } : {})) }),
    agent: { tools: [deciding] },
    law: 'asking',
  },
  {
    wrong: 'the code of a tool agrees to other arguments than it has seen',
    machine: callAction({
      takeCheckedArgs: assign(({ context }, output) =>
        output.ok && output.approved === true
          ? { args: { ...output.args, more: 1 }, approved: 'by-code' as const }
          : { args: output.ok ? output.args : context.args },
      ),
    }),
    agent: { tools: [deciding] },
    law: 'permission',
  },
  {
    wrong: 'an approval is kept for other arguments',
    machine: callAction({
      takeRepair: assign(({ context }) => ({
        request: { ...context.request, unreadable: null },
        error: null,
        result: null,
      })),
    }),
    agent: {
      tools: [fakeTool('mended', [1], { policy: 'confirm', onError: { executionError: recover.fix(() => null) } })],
    },
    law: 'permission',
  },
];
