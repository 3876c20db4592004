import type { SessionModel } from '../session-model.ts';
import { senderOf } from '../talk/sender.ts';

/** One arrow of the sequence diagram: who told whom what. `from` null: somebody outside. */
export interface Message {
  readonly position: number;
  readonly from: string | null;
  readonly to: string;
  readonly label: string;
  readonly kind: 'start' | 'event' | 'done' | 'failed' | 'timer';
}

/** The messages of a session: one for each step that something told an actor to make. */
export function messagesOf(session: SessionModel): readonly Message[] {
  return session.steps.flatMap((step, position): readonly Message[] => {
    const { actor, event } = step;
    const parent = session.actors.get(actor)?.info.parent ?? null;
    if (event === 'started') return [{ position, from: parent, to: actor, label: 'start', kind: 'start' }];
    if (event === '' || event === 'always') return [];
    if (event.startsWith('after')) return [{ position, from: actor, to: actor, label: event, kind: 'timer' }];
    const from = senderOf(session, actor, event, position);
    const below = from !== null && from !== parent;
    const kind = /\.(?:failed|denied|escalated|thrown)$/.test(event) ? 'failed' : below ? 'done' : 'event';
    return [{ position, from, to: actor, label: event, kind }];
  });
}
