import type { SessionModel } from '../session-model.ts';

/**
 * Who an actor heard from at a step, as it was told; where it was not: the leaf that the event is named after (`callTool.done`; a leaf is a part of its
 * actor), the machine below it that made the move before and is at its end, or its parent. Null: somebody outside, as the
 * recording says, or as it must be for a root.
 */
export function senderOf(session: SessionModel, actor: string, event: string, position: number): string | null {
  const told = session.steps[position]?.sender;
  if (told !== undefined) return told;
  const named = /^(.+)\.(?:done|failed)$/.exec(event)?.[1];
  if (named !== undefined && session.actors.has(`${actor}/${named}`)) return `${actor}/${named}`;
  const entry = session.steps[position]?.entry ?? null;
  const record = entry === null ? undefined : session.records[entry];
  if (record?.t === 'event' && record.event.type === event) return null;
  const before = session.steps[position - 1];
  const child = before === undefined ? undefined : session.actors.get(before.actor);
  if (before === undefined || child?.info.parent !== actor)
    return named === undefined ? parentOf(session, actor) : actor;
  const over = child.lives.some(({ to }) => to === position || to === position - 1);
  return over || named !== undefined ? before.actor : parentOf(session, actor);
}

function parentOf(session: SessionModel, actor: string): string | null {
  return session.actors.get(actor)?.info.parent ?? null;
}
