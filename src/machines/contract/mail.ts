/** Something that a person says to a run. `id` makes it one message, however often it is sent. */
export interface SentMessage {
  readonly id: string;
  readonly text: string;
}

/** What a run is told by people while it works. */
export type SteeringEvent =
  /** For the model's next turn; `interrupt`: the request in flight is void. */
  | ({ readonly type: 'message.steered'; readonly interrupt?: boolean } & SentMessage)
  /** For the run after this one. */
  | ({ readonly type: 'message.queued' } & SentMessage);

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
}

/** No messages. */
export const NO_MAIL: Mail = { waiting: [], delivered: [], queued: [] };

/** What came between two states of the mail, and what the model got. */
export function mailNews(was: Mail, now: Mail) {
  if (was === now) return { received: [], delivered: [] };
  const known = new Set([...was.waiting, ...was.delivered].map(({ id }) => id));
  const steers = [...now.delivered, ...now.waiting].filter(({ id }) => !known.has(id));
  return {
    received: [
      ...steers.map(({ id, text }) => ({ id, text, kind: 'steer' as const })),
      ...now.queued.slice(was.queued.length).map(({ id, text }) => ({ id, text, kind: 'queue' as const })),
    ],
    delivered: now.delivered.slice(was.delivered.length),
  };
}
