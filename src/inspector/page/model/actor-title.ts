import type { ActorState } from './actor-state.ts';
import type { Talk } from './talk.ts';

/** What an actor is about, in one word or two: the tool of a call, else its own id. */
export function actorTitle({ track }: ActorState, talk: Talk): string {
  const id = track.info.path.slice(track.info.path.lastIndexOf('/') + 1);
  for (const item of talk.items.toReversed()) {
    if (item.kind === 'call' && item.callId === id) return item.tool;
    if (item.kind === 'plan' && id === 'step')
      return item.steps.find(({ status }) => status === 'running')?.tool ?? 'step';
  }
  return id;
}
