import { createAgent } from '../../../src/agent/create-agent.ts';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { type Mutant, no, nothing, yes } from './mutant.ts';
import { look } from './tools.ts';

type AgentGuards = Parameters<typeof agentMachine.provide>[0]['guards'];
type AgentActions = Parameters<typeof agentMachine.provide>[0]['actions'];

const guard = (guards: NonNullable<AgentGuards>) => agentMachine.provide({ guards });
const action = (actions: NonNullable<AgentActions>) => agentMachine.provide({ actions });

const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const typed = { tools: [look], outputSchema } satisfies Mutant['agent'];
const handing = fakeTool('hard', [1], { onError: { executionError: recover.escalate('too hard') } });
/** By the name that explored verdicts hand over to. */
const expert = createAgent({ name: 'another', description: 'Knows.', model: scriptedModel([]), silent: true });
const checked = { ...typed, checkOutput: nothing } satisfies Mutant['agent'];

/** What must not happen to an answer that has a schema. */
export const OUTPUT_MUTANTS: readonly Mutant[] = [
  { wrong: 'an answer that was held is forgotten', machine: guard({ outputHeld: no }), agent: typed, law: 'delivery' },
  { wrong: 'an answer is held where there is none', machine: guard({ outputHeld: yes }), agent: typed, law: 'ends' },
  { wrong: 'an answer is not taken for one', machine: guard({ gaveOutput: no }), agent: typed, law: 'output' },
  { wrong: 'every reply is taken for an answer', machine: guard({ gaveOutput: yes }), agent: typed, law: 'results' },
  { wrong: 'no answer fits its schema', machine: guard({ outputFits: no }), agent: typed, law: 'delivery' },
  { wrong: 'every answer fits its schema', machine: guard({ outputFits: yes }), agent: typed, law: 'output' },
  {
    wrong: 'the code that checks answers is not asked',
    machine: guard({ outputCheckedByCode: no }),
    agent: checked,
    law: 'delivery',
  },
  {
    wrong: 'code is asked that is not there',
    machine: guard({ outputCheckedByCode: yes }),
    agent: typed,
    law: 'delivery',
  },
  {
    wrong: 'an answer that the check accepted is rejected',
    machine: guard({ outputAccepted: no }),
    agent: checked,
    law: 'delivery',
  },
  {
    wrong: 'an answer that the check rejected is accepted',
    machine: guard({ outputAccepted: yes }),
    agent: checked,
    law: 'output',
  },
  { wrong: 'an answer is never corrected', machine: guard({ correctionsLeft: no }), agent: typed, law: 'delivery' },
  {
    wrong: 'answers are corrected without end',
    machine: guard({ correctionsLeft: yes }),
    agent: { ...typed, maxSteps: 5 },
    law: 'output',
  },
  {
    wrong: 'no turn is kept for the answer when the budget is spent',
    machine: guard({ lastTurnLeft: no }),
    agent: { ...typed, maxSteps: 3, budget: { maxToolCalls: 1 } },
    law: 'delivery',
  },
  {
    wrong: 'a turn is kept that the limit of steps does not leave',
    machine: guard({ lastTurnLeft: yes }),
    agent: { ...typed, maxSteps: 1, budget: { maxToolCalls: 1 } },
    law: 'delivery',
  },
  {
    wrong: 'no turn is kept for the answer at the limit of steps',
    machine: guard({ lastTurnDue: no }),
    agent: typed,
    law: 'delivery',
  },
  {
    wrong: 'the run continues after the turn that was kept',
    machine: guard({ isLastTurn: no }),
    agent: typed,
    law: 'delivery',
  },
  { wrong: 'every turn is the last', machine: guard({ isLastTurn: yes }), agent: typed, law: 'budget' },
  { wrong: 'an answer is not delivered', machine: action({ deliverOutput: nothing }), agent: typed, law: 'ends' },
  {
    wrong: 'an answer that was checked is not delivered',
    machine: action({ deliverChecked: nothing }),
    agent: checked,
    law: 'ends',
  },
  {
    wrong: 'what the check found is lost',
    machine: action({ takeOutputProblems: nothing }),
    agent: checked,
    law: 'delivery',
  },
  {
    wrong: 'nothing is said of an answer that does not fit',
    machine: action({ correctOutput: nothing }),
    agent: typed,
    law: 'ends',
  },
  { wrong: 'the kept turn is not noted', machine: action({ keepLastTurn: nothing }), agent: typed, law: 'alive' },
  {
    wrong: 'a limit ends the run without a reason',
    machine: action({ endAtLimit: nothing }),
    agent: typed,
    law: 'ends',
  },
  {
    wrong: 'an answer that never fits ends the run without a reason',
    machine: action({ endOutputInvalid: nothing }),
    agent: { ...typed, maxSteps: 5 },
    law: 'ends',
  },
  {
    wrong: 'a check that fails ends the run without a reason',
    machine: action({ endOutputUnchecked: nothing }),
    agent: checked,
    law: 'ends',
  },
  {
    wrong: 'an answer of another agent is not checked',
    machine: guard({ handOverToCheck: no }),
    agent: { ...typed, tools: [handing], children: [expert], onEscalation: (_error, to) => to.reroute('another') },
    law: 'output',
  },
];
