/** Somebody's web page with a state machine and a button, inspected with Stately's package; it knows nothing of ours. */
import { createWebSocketInspector } from '@statelyai/inspect';
import { createActor, createMachine } from 'xstate';

// Stately's client waits for idle time, of which a page gets none while another one is in front of it.
window.requestIdleCallback = (next) => window.setTimeout(() => next({ didTimeout: true, timeRemaining: () => 0 }));

const lamp = createMachine({
  id: 'lamp',
  initial: 'DARK',
  context: { turns: 0 },
  states: {
    DARK: { on: { TURN: 'BRIGHT' } },
    BRIGHT: { on: { TURN: 'DARK', BREAK: 'BROKEN' } },
    BROKEN: { type: 'final' },
  },
});
const url = new URLSearchParams(location.search).get('to') ?? '';
const actor = createActor(lamp, { inspect: createWebSocketInspector({ url }).inspect });
for (const type of ['TURN', 'BREAK']) {
  const button = document.createElement('button');
  button.textContent = type;
  button.addEventListener('click', () => actor.send({ type }));
  document.body.append(button);
}
actor.start();
