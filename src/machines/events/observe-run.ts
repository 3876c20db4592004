import type { ActorRefFrom } from 'xstate';
import type { agentMachine } from '../agent/agent.ts';
import type { RunEvent } from './run-events.ts';
import { runEventReader } from './run-event-reader.ts';
import { isBelow, microstepReader } from './transition-log.ts';

/**
 * Emits the RunEvents of a bare agent machine in your own actor system, from now on: subscribe before `actor.start()`.
 * What a listener throws is ignored. Tokens are not included; only runs have them.
 *
 * @example
 * const actor = createActor(agentMachine.provide({ actors: agent.actors }), { input: { task: 'Hello' } });
 * observeRun(actor, (event) => console.log(event.type));
 * actor.start();
 */
export function observeRun(
  actor: ActorRefFrom<typeof agentMachine>,
  listener: (event: RunEvent) => void,
): { readonly unsubscribe: () => void } {
  let seq = 0;
  const reader = runEventReader({
    runId: actor.sessionId,
    now: () => performance.now(),
    emit: (body, agent) => {
      try {
        listener({ ...body, seq: ++seq, replayed: false, ...(agent === '' ? {} : { child: agent }) });
      } catch {
        // A listener must not stop the machine that it listens to.
      }
    },
  });
  return actor.system.inspect(microstepReader(isBelow(actor), reader));
}
