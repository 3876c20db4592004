import type { SessionModel } from './session-model.ts';
import { lifeEndingAt } from './life-ending.ts';

/** One arrow of the sequence diagram: who told whom what. `from` null: somebody outside, or a timer when `timer`. */
export interface Message {
  readonly position: number;
  readonly from: string | null;
  readonly to: string;
  readonly label: string;
  readonly kind: 'start' | 'event' | 'done' | 'failed' | 'timer';
}

/** The messages of a session, one for each step that something told an actor to make. */
export function messagesOf(session: SessionModel): readonly Message[] {
  return session.steps.flatMap((step, position): readonly Message[] => {
    const { actor, event } = step;
    const parent = session.actors.get(actor)?.info.parent ?? null;
    if (event === 'started')
      return parent === null ? [] : [{ position, from: parent, to: actor, label: 'start', kind: 'start' }];
    if (event === '' || event === 'always') return [];
    if (event.startsWith('after')) return [{ position, from: actor, to: actor, label: event, kind: 'timer' }];
    const child = lifeEndingAt(session, actor, event, position);
    const kind = /\.(failed|denied|escalated|thrown)$/.test(event) ? 'failed' : child === null ? 'event' : 'done';
    return [{ position, from: child, to: actor, label: event, kind }];
  });
}

/** The actors that appear in messages, in order of birth: the lifelines. At most `most`, the rest shares the last one's place. */
export function lifelines(session: SessionModel): readonly string[] {
  return [...session.actors.values()].filter(({ info }) => info.drawing !== null).map(({ info }) => info.path);
}
