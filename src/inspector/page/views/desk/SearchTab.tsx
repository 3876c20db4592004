import { useMemo } from 'preact/hooks';
import { type Hit, search } from '../../model/search.ts';
import { usePage } from '../../state/page-context.ts';
import { goTo } from '../../state/walk.ts';
import { VirtualList } from '../VirtualList.tsx';

/** Finds a text in all that was said and done. */
export function SearchTab() {
  const { state } = usePage();
  const session = state.session.value;
  const query = state.query.value;
  const beat = state.slowBeat.value;
  const hits = useMemo(() => (session === null ? [] : search(session, query)), [session, query, beat]);
  return (
    <>
      <div class="pad">
        <input
          class="field"
          id="search"
          type="search"
          aria-label="Search this run"
          placeholder="Search arguments, results, thoughts, states…"
          value={query}
          onInput={(event) => (state.query.value = event.currentTarget.value)}
        />
      </div>
      {query !== '' && hits.length === 0 && <p class="empty">Not found.</p>}
      <VirtualList
        items={hits}
        estimate={24}
        label="Places found"
        stick={false}
        reveal={null}
        render={(hit: Hit) => (
          <button
            type="button"
            class={hit.position === state.position.value ? 'row row-hit now' : 'row row-hit'}
            onClick={() => goTo(state, hit.position)}
          >
            <span class="dim">{hit.position + 1}</span>
            <span class="dim">{hit.where}</span>
            <bdi>{hit.excerpt}</bdi>
          </button>
        )}
      />
    </>
  );
}
