import type { SessionModel } from './session-model.ts';

/**
 * Which child an actor heard from at a step: the machine below it whose last move came just before, or the leaf that the
 * event is named after (`callTool.done`). Null: nobody below, so somebody outside.
 */
export function lifeEndingAt(session: SessionModel, actor: string, event: string, position: number): string | null {
  const named = /^(.+)\.(?:done|failed)$/.exec(event)?.[1];
  if (named !== undefined && session.actors.has(`${actor}/${named}`)) return `${actor}/${named}`;
  const before = session.steps[position - 1];
  if (before === undefined || session.actors.get(before.actor)?.info.parent !== actor)
    return named === undefined ? null : `${actor}/${named}`;
  return /^(tool|model|run|agent)\./.test(event) || named !== undefined ? before.actor : null;
}
