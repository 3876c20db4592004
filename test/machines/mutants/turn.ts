import { leafErrorOf } from '../../../src/actors/leaf.ts';
import type { Message } from '../../../src/actors/model.ts';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { llmCallMachine } from '../../../src/machines/llm-call/llm-call.ts';
import { type Mutant, no, yes } from './mutant.ts';
import { look } from './tools.ts';

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

/** What must not happen to a turn of the model. */
export const TURN_MUTANTS: readonly Mutant[] = [
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
