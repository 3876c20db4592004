import { inertLine } from '../../model/inert-text.ts';
import { waitingCalls } from '../../model/talk/talk.ts';
import { usePage } from '../../state/page-context.ts';
import { statusText } from '../status.ts';

/** Says aloud what somebody who does not see the page must know: that a call waits, and how a run ended. */
export function Waiting() {
  const { state } = usePage();
  const session = state.session.value;
  void state.beat.value;
  if (session === null) return null;
  const calls = waitingCalls(session.talk);
  const tools = calls.map(({ tool }) => inertLine(tool, 40)).join(', ');
  return (
    <p class="sr" role="status" aria-live="assertive">
      {calls.length > 0 ? `${tools} waits for your approval. Press A.` : `Run ${statusText(session.info)}`}
    </p>
  );
}
