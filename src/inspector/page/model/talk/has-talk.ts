import type { SessionModel } from '../session-model.ts';

/** Whether there may be a conversation to show, with turns and raw exchanges: somebody's own actors only move. */
export function hasTalk(session: SessionModel | null): boolean {
  return session?.info.kind !== 'system';
}
