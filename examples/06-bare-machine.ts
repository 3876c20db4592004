// The bare machine in your own actor system, live and not recorded: `agentMachine` with the agent's actors provided.
// `observeRun` emits the same events as a run; everything else is plain XState.
import { createAgent, tool } from 'signalbox';
import { agentMachine, observeRun } from 'signalbox/machines';
import { scriptedModel } from 'signalbox/testing';
import { createActor, toPromise } from 'xstate';

const dice = tool({ name: 'roll_dice', description: 'Rolls two dice.', execute: () => [3, 5] });
const agent = createAgent({
  tools: [dice],
  model: scriptedModel([{ content: '', toolCalls: [{ name: 'roll_dice' }] }, 'You rolled an eight.']),
});

const actor = createActor(agentMachine.provide({ actors: agent.actors }), { input: { task: 'Roll the dice.' } });
observeRun(actor, (event) => {
  if (event.type === 'state.changed') console.log(`${event.event}: ${event.from} → ${event.to}`);
});
actor.start();

const { result, toolsUsed } = await toPromise(actor);
console.log(`${result} (${toolsUsed.join(', ')})`);
