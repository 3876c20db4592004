import type { ActorState } from './actor-state.ts';
import type { Talk } from './talk/talk.ts';

/**
 * What an actor is about, in one word or two: the tool of a call, else its own id. `whole` is the conversation as far as it
 * is known, in which a call has its name before it has said anything; `shown` the one at the step that is looked at.
 */
export function actorTitle(
  { track }: ActorState,
  { whole, shown }: { readonly whole: Talk; readonly shown: Talk },
): string {
  const id = track.info.path.slice(track.info.path.lastIndexOf('/') + 1);
  const call = whole.items.findLast((item) => item.kind === 'call' && item.callId === id);
  if (call?.kind === 'call') return call.tool;
  const plan = id === 'step' ? shown.items.findLast((item) => item.kind === 'plan') : undefined;
  if (plan?.kind !== 'plan') return id;
  return plan.steps.find(({ status }) => status === 'running')?.tool ?? id;
}
