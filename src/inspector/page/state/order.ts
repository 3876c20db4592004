import type { Act } from '../../frames/protocol.ts';
import type { Page } from './page-context.ts';
import { showSession } from './walk.ts';

/** Asks the server for something about the session that is shown, and says what became of it. True when it was done. */
export async function order({ state, desk }: Pick<Page, 'state' | 'desk'>, act: Act): Promise<boolean> {
  const session = state.session.value;
  if (session === null) return false;
  const answer = await desk.act(session.info.id, act);
  if (!answer.ok) {
    state.notice.value = { text: answer.message, tone: 'danger' };
    return false;
  }
  state.notice.value = { text: DONE[act.kind], tone: 'info' };
  if (answer.session !== null) showSession(state, answer.session);
  return true;
}

const DONE: { readonly [kind in Act['kind']]: string } = {
  approve: 'Approved.',
  reject: 'Rejected.',
  cancel: 'The run is being cancelled.',
  send: 'The event is sent.',
  fork: 'A fork of the run goes on from here.',
};
