import type { SessionModel } from './session-model.ts';

/**
 * Who an actor heard from at a step: the leaf that the event is named after (`callTool.done`; a leaf is a part of its
 * actor), or the machine below it that made the move before and is at its end. Null: somebody outside.
 */
export function senderOf(session: SessionModel, actor: string, event: string, position: number): string | null {
  const named = /^(.+)\.(?:done|failed)$/.exec(event)?.[1];
  if (named !== undefined && session.actors.has(`${actor}/${named}`)) return `${actor}/${named}`;
  const before = session.steps[position - 1];
  const child = before === undefined ? undefined : session.actors.get(before.actor);
  if (before === undefined || child?.info.parent !== actor) return named === undefined ? null : actor;
  const over = child.lives.some(({ to }) => to === position || to === position - 1);
  return over || named !== undefined ? before.actor : null;
}
