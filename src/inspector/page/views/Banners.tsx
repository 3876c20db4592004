import { inertLine } from '../model/inert-text.ts';
import { usePage } from '../state/page-context.ts';
import { showSession } from '../state/walk.ts';
import { Lamp } from './Icon.tsx';

/** What the reader must know about what is shown: that it is not all, or made by a newer version, or a fork of another run. */
export function Banners() {
  const { state } = usePage();
  void state.beat.value;
  const session = state.session.value;
  const parent = session?.info.parent ?? null;
  return (
    <>
      {state.model.server?.newer === true && (
        <Banner
          text={`Signalbox ${state.model.server.version} made this; this page is older and may not show all of it.`}
        />
      )}
      {session !== null && session.info.problem !== null && <Banner text={inertLine(session.info.problem, 400)} />}
      {session !== null && session.dropped > 0 && (
        <Banner
          text={`${session.dropped} messages are missing here. Reload the page to see what the server still has.`}
        />
      )}
      {parent !== null && (
        <p class="banner">
          A fork of{' '}
          <button type="button" class="more" onClick={() => showSession(state, parent.runId)}>
            {inertLine(parent.runId, 60)}
          </button>{' '}
          after entry {parent.entry}.
        </p>
      )}
    </>
  );
}

function Banner({ text }: { readonly text: string }) {
  return (
    <p class="banner" role="note">
      <Lamp tone="caution" /> {text}
    </p>
  );
}
