import type { SessionModel } from '../model/session-model.ts';
import type { PageState } from './page-state.ts';

/** The run that the one in sight is compared with; null when none was chosen, or it is gone. */
export function otherSession(state: PageState): SessionModel | null {
  void state.beat.value;
  const other = state.other.value === null ? undefined : state.model.sessions.get(state.other.value);
  return other === undefined || other === state.session.value ? null : other;
}

/** Whether two runs are being compared: they then have the room of the conversation too. */
export function isComparing(state: PageState): boolean {
  return state.tab.value === 'compare' && otherSession(state) !== null;
}
