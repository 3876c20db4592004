/**
 * A program of its own that is inspected with Stately's package, and knows nothing of ours. Lines of standard input are
 * the events of its actor, or orders to Stately's client.
 */
import { createInterface } from 'node:readline';
import { createWebSocketInspector } from '@statelyai/inspect';
import { createActor, setup } from 'xstate';

const [, , url = ''] = process.argv;
const bolt = setup({}).createMachine({
  id: 'bolt',
  initial: 'OUT',
  states: { OUT: { on: { BACK: 'IN' } }, IN: { type: 'final' } },
});
const door = setup({ actors: { bolt }, guards: { isWelcome: () => true } }).createMachine({
  id: 'door',
  initial: 'SHUT',
  states: {
    SHUT: { on: { KNOCK: { guard: 'isWelcome', target: 'OPEN' }, LOCK: 'LOCKED' } },
    OPEN: { on: { SLAM: 'SHUT', STUFF: {} } },
    LOCKED: { invoke: { id: 'bolt', src: 'bolt', onDone: 'SHUT' }, on: { BURN: 'ASHES' } },
    ASHES: { type: 'final' },
  },
});

const client = createWebSocketInspector({ url });
const actor = createActor(door, { id: 'front', inspect: client.inspect }).start();
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'disconnect') client.stop();
  else if (line === 'reconnect') client.start();
  else if (line === 'BACK') actor.getSnapshot().children.bolt?.send({ type: 'BACK' });
  else if (line === 'STUFF') client.event(actor, { type: 'STUFF', stuff: 'x'.repeat(10_000_000) });
  else actor.send({ type: line });
  console.log(line);
}
