import { leafErrorOf } from '../../../src/actors/leaf.ts';
import type { Message, Model, ToolCalling } from '../../../src/actors/model.ts';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { llmCallMachine } from '../../../src/machines/llm-call/llm-call.ts';
import type { ModelList } from '../../../src/machines/llm-call/model-list.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { type Mutant, no, yes } from './mutant.ts';
import { look } from './tools.ts';
import { assign } from 'xstate';

type TurnGuards = Parameters<typeof llmCallMachine.provide>[0]['guards'];

const turnGuard = (guards: NonNullable<TurnGuards>) =>
  agentMachine.provide({ actors: { llmCall: llmCallMachine.provide({ guards }) } });

/** A conversation with a result in it that can be shortened. */
const LONG_PAST: readonly Message[] = [
  { role: 'user', content: 'Look.' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }] },
  { role: 'tool', toolCallId: 'a', name: 'look', content: 'x'.repeat(1000) },
  { role: 'assistant', content: 'Seen.' },
];

type TurnActions = NonNullable<Parameters<typeof llmCallMachine.provide>[0]['actions']>;

const turnAction = (actions: TurnActions) =>
  agentMachine.provide({ actors: { llmCall: llmCallMachine.provide({ actions }) } });

/** Three models, of which the second writes its calls into JSON and the last takes the longest conversation. */
export const LIST: readonly Model[] = ['a', 'b', 'c'].map((id, index) => ({
  ...scriptedModel([], index === 1 ? { toolCalling: 'json' } : {}),
  id,
  contextSize: [2000, 1000, 3000][index],
}));

/** What must not happen to a turn for which there are several models. */
const LIST_MUTANTS: readonly Mutant[] = [
  { wrong: 'the next model is asked only after a pause', machine: turnGuard({ anotherModelLeft: no }) },
  { wrong: 'another model is asked after every failure', machine: turnGuard({ anotherModelLeft: yes }) },
  {
    wrong: 'a turn with several models ends where it would pause',
    machine: turnGuard({ attemptsLeft: no }),
    agent: { retry: { maxAttempts: 9 } },
  },
  { wrong: 'attempts of several models never end', machine: turnGuard({ attemptsLeft: yes }) },
  {
    wrong: 'one of several models that refuses tools is given up',
    machine: turnGuard({ toolsRefused: no }),
    agent: { tools: [look] },
  },
  {
    wrong: 'the pause that one of several models asks for is ignored',
    machine: agentMachine.provide({ actors: { llmCall: llmCallMachine.provide({ delays: { pause: 1 } }) } }),
    agent: { retry: { maxAttempts: 9 } },
  },
  {
    wrong: 'the model that has failed is asked instead of the next one',
    machine: turnAction({ takeError: assign({ error: ({ event }) => leafErrorOf(event) }) }),
  },
  { wrong: 'the next model is asked as the last one was', machine: movedBy((list) => list.at + 1, 'native') },
  { wrong: 'the order of the models does not count', machine: movedBy(({ at }) => (at === 0 ? 2 : 1)) },
].map((mutant) => ({ ...mutant, agent: { model: LIST, ...mutant.agent }, law: 'retries' }));

/** A machine that asks the model at this place after any failure that leads to another one. */
function movedBy(next: (list: ModelList) => number, calling?: ToolCalling) {
  return turnAction({
    takeError: assign(({ context: { list }, event }) => {
      if (list === null) return {};
      const at = next(list) % list.models.length;
      const toolCalling = calling ?? list.models[at]?.toolCalling ?? 'native';
      return { error: leafErrorOf(event), list: { ...list, at }, toolCalling };
    }),
  });
}

/** What must not happen to a turn of the model. */
export const TURN_MUTANTS: readonly Mutant[] = [
  ...LIST_MUTANTS,
  {
    wrong: 'a server that refuses tools is given up',
    machine: turnGuard({ toolsRefused: no }),
    agent: { tools: [look] },
    law: 'retries',
  },
  {
    wrong: 'every failure is taken for a refusal of tools',
    machine: turnGuard({ toolsRefused: yes }),
    agent: { tools: [look] },
    law: 'retries',
  },
  {
    wrong: 'a malformed call counts as an outage',
    machine: turnGuard({ replyMalformed: no }),
    agent: { tools: [look] },
    law: 'retries',
  },
  {
    wrong: 'every failure is taken for a malformed call',
    machine: turnGuard({ replyMalformed: yes }),
    agent: {},
    law: 'retries',
  },
  {
    wrong: 'a conversation that is too long is not shortened',
    machine: turnGuard({ contextTooLong: no }),
    agent: { history: LONG_PAST },
    law: 'retries',
  },
  {
    wrong: 'a conversation is shortened again and again',
    machine: turnGuard({ contextTooLong: yes }),
    agent: { history: LONG_PAST },
    law: 'retries',
  },
  {
    wrong: 'a conversation in which nothing can be shortened is sent again',
    machine: turnGuard({
      contextTooLong: ({ context, event }) => leafErrorOf(event).code === 'context-overflow' && !context.shortened,
    }),
    agent: {},
    law: 'retries',
  },
  {
    wrong: 'the pause that a server asks for is ignored',
    machine: agentMachine.provide({ actors: { llmCall: llmCallMachine.provide({ delays: { pause: 250 } }) } }),
    agent: {},
    law: 'retries',
  },
  { wrong: 'no attempt but the first is made', machine: turnGuard({ attemptsLeft: no }), agent: {}, law: 'retries' },
  { wrong: 'attempts never end', machine: turnGuard({ attemptsLeft: yes }), agent: {}, law: 'retries' },
  {
    wrong: 'every failure is taken for a timeout',
    machine: turnGuard({ timedOutWithAttemptsLeft: yes }),
    agent: {},
    law: 'retries',
  },
];
