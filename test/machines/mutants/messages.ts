import { agentMachine } from '../../../src/machines/agent/agent.ts';
import type { OutsideEvent } from '../../../src/actors/journal.ts';
import type { View } from '../../../src/testing/index.ts';
import { type Mutant, no, nothing, yes } from './mutant.ts';
import { look } from './tools.ts';

const steer = (id: string, interrupt = false): OutsideEvent => ({
  type: 'message.steered',
  id,
  text: `said ${id}`,
  interrupt,
});
const queue = (id: string): OutsideEvent => ({ type: 'message.queued', id, text: `said ${id}` });
const withdrawn = (id: string): OutsideEvent => ({ type: 'message.withdrawn', id });

/** Says these things, each at any moment, in this order. */
export const saying =
  (...events: readonly OutsideEvent[]) =>
  ({ path }: View): readonly OutsideEvent[] =>
    events.slice(path.filter((label) => label.startsWith('message.')).length).slice(0, 1);

type Provided = Parameters<typeof agentMachine.provide>[0];
const guard = (guards: NonNullable<Provided['guards']>) => agentMachine.provide({ guards });
const action = (actions: NonNullable<Provided['actions']>) => agentMachine.provide({ actions });

/** What must not happen to what people say to a run. */
export const MESSAGE_MUTANTS: readonly Mutant[] = [
  {
    wrong: 'a message counts twice',
    machine: guard({ takesSteer: ({ event }) => event.type === 'message.steered' }),
    agent: { tools: [look] },
    law: 'messages',
    events: saying(steer('a'), steer('a')),
  },
  {
    wrong: 'more than maxSteers are taken',
    machine: guard({ takesSteer: ({ event }) => event.type === 'message.steered' }),
    agent: { maxSteers: 1 },
    law: 'messages',
    events: saying(steer('a'), steer('b')),
  },
  {
    wrong: 'a message is forgotten',
    machine: action({ takeSteer: nothing }),
    agent: { tools: [look] },
    law: 'budget',
    events: saying(steer('a')),
  },
  {
    wrong: 'a queued message is forgotten',
    machine: action({ takeQueued: nothing }),
    agent: {},
    law: 'budget',
    events: saying(queue('a')),
  },
  {
    wrong: 'a queued message counts twice',
    machine: guard({ takesQueued: ({ event }) => event.type === 'message.queued' }),
    agent: {},
    law: 'messages',
    events: saying(queue('a'), queue('a')),
  },
  {
    wrong: 'a message that was taken back is kept',
    machine: action({ withdrawMessage: nothing }),
    agent: { maxSteps: 1 },
    law: 'budget',
    events: saying(queue('a'), withdrawn('a')),
  },
  {
    wrong: 'a message makes the run continue without end',
    machine: guard({ steeredOn: yes }),
    agent: { maxSteps: 3 },
    law: 'turns',
    events: saying(steer('a')),
  },
  {
    wrong: 'an interrupted request is made again beyond the steps',
    machine: guard({ interrupts: yes, stepLimitReached: no }),
    agent: { maxSteps: 1 },
    law: 'budget',
    events: saying(steer('a', true)),
  },
];

/** All that can be said to a run, for the machine as it is. */
export const SAYINGS = [
  saying(steer('a'), steer('b'), steer('a')),
  saying(steer('a', true), queue('q')),
  saying(queue('q'), steer('a'), withdrawn('q')),
  saying(queue('a'), withdrawn('a'), queue('a')),
];
