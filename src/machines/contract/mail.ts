import type { Part } from '../../actors/model.ts';
import type { JsonObject } from '../../json/json.ts';

/** A person's message to a run. `id` makes it one message, however often it is sent. */
export interface SentMessage {
  readonly id: string;
  readonly text: string;
  /** Its text, images and files in their order; absent: it is text alone. */
  readonly content?: readonly Part[];
  /** Of the run that it becomes. */
  readonly metadata?: JsonObject;
}

/** The messages of people to a run while it works. */
export type SteeringEvent =
  /** For the model's next turn; `interrupt`: the request in flight is void. */
  | ({ readonly type: 'message.steered'; readonly interrupt?: boolean } & SentMessage)
  /** For the run after this one. */
  | ({ readonly type: 'message.queued' } & SentMessage)
  /** Takes back what was queued. */
  | { readonly type: 'message.withdrawn'; readonly id: string };

/** How many messages a run takes for the turns of its model, unless the option `maxSteers` says otherwise. */
export const MAX_STEERS = 20;

/** The messages of people, as a run keeps them. */
export interface Mail {
  /** Not seen by the model yet, in order. */
  readonly waiting: readonly SentMessage[];
  /** Those that it has, each with the step in which it got it. */
  readonly delivered: readonly (SentMessage & { readonly step: number })[];
  /** For the run after this one. */
  readonly queued: readonly SentMessage[];
  /** The ids of those that were taken back: sent again, they are not taken. */
  readonly withdrawn: readonly string[];
}

/** No messages. */
export const NO_MAIL: Mail = { waiting: [], delivered: [], queued: [], withdrawn: [] };

/** What came between two states of the mail, and what the model got. What a run began with came before it: `was` is null. */
export function mailNews(was: Mail | null, now: Mail) {
  if (was === null || was === now) return { received: [], delivered: [] };
  const known = new Set([...was.waiting, ...was.delivered, ...was.queued].map(({ id }) => id));
  const isNew = ({ id }: SentMessage): boolean => !known.has(id);
  return {
    received: [
      ...[...now.delivered, ...now.waiting].filter(isNew).map(({ id, text }) => ({ id, text, kind: 'steer' as const })),
      ...now.queued.filter(isNew).map(({ id, text }) => ({ id, text, kind: 'queue' as const })),
    ],
    delivered: now.delivered.slice(was.delivered.length),
  };
}
