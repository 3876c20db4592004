import { useEffect, useMemo, useState } from 'preact/hooks';
import type { SearchPage } from '../../../frames/protocol.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { type Hit, MOST_HITS, stepOfLine, search } from '../../model/search.ts';
import { usePage } from '../../state/page-state.ts';
import { goTo, showSession } from '../../state/walk.ts';
import { VirtualList } from '../parts/VirtualList.tsx';

/** Finds a text in all messages, requests and steps: in this run, or in all. */
export function SearchTab() {
  const { state, desk } = usePage();
  const query = state.query.value;
  const [inAll, setInAll] = useState(false);
  return (
    <>
      <div class="pad search-head">
        <input
          class="field"
          id="search"
          type="search"
          aria-label={inAll ? 'Search all runs' : 'Search this run'}
          placeholder="Search prompts, arguments, results, thoughts, states…"
          value={query}
          onInput={(event) => (state.query.value = event.currentTarget.value)}
        />
        {desk.acts && (
          <div class="form-switch">
            <button type="button" aria-pressed={!inAll} onClick={() => setInAll(false)}>
              This run
            </button>
            <button type="button" aria-pressed={inAll} onClick={() => setInAll(true)}>
              All runs
            </button>
          </div>
        )}
      </div>
      {inAll ? <AllRuns query={query} /> : <ThisRun query={query} />}
    </>
  );
}

function ThisRun({ query }: { readonly query: string }) {
  const { state } = usePage();
  const session = state.session.value;
  const revision = state.slowRevision.value;
  const hits = useMemo(() => (session === null ? [] : search(session, query)), [session, query, revision]);
  const share = session?.read ?? 1;
  return (
    <>
      {query !== '' && share < 1 && (
        <p class="pad dim">Still reading this run ({Math.floor(share * 100)} %): there may be more.</p>
      )}
      {query !== '' && share === 1 && hits.length === 0 && <p class="empty">Not found.</p>}
      {hits.length === MOST_HITS && <p class="pad dim">These are the first {MOST_HITS} places; there may be more.</p>}
      <VirtualList
        items={hits}
        label="Places found"
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

/** Does not search after each letter that is typed. */
const PAUSE_MS = 250;

type RunHit = SearchPage['hits'][number];

function AllRuns({ query }: { readonly query: string }) {
  const { state, desk } = usePage();
  const [found, setFound] = useState<SearchPage | null>(null);
  const [wanted, want] = useState<RunHit | null>(null);
  void state.revision.value;
  useEffect(() => {
    let isOld = false;
    setFound(null);
    if (query.trim() === '') return;
    const timer = setTimeout(() => {
      void desk.search(query).then((page) => {
        if (!isOld) setFound(page ?? { hits: [], partial: true });
      });
    }, PAUSE_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [query]);
  const session = state.session.value;
  const isThere = wanted !== null && session?.info.id === wanted.session && session.records[wanted.line] !== undefined;
  useEffect(() => {
    // The records of another run come after it was chosen.
    if (!isThere || session === null || wanted === null) return;
    goTo(state, stepOfLine(session, wanted.line));
    want(null);
  }, [isThere]);
  const go = (hit: RunHit): void => {
    if (session?.info.id !== hit.session) showSession(state, hit.session);
    want(hit);
  };
  if (query.trim() === '') return null;
  if (found === null) return <p class="empty">Searching…</p>;
  return (
    <>
      {found.hits.length === 0 && <p class="empty">Not found.</p>}
      {found.partial && <p class="pad dim">There may be more: not everything was searched.</p>}
      <VirtualList
        items={found.hits}
        label="Places found in all runs"
        render={(hit: RunHit) => (
          <button type="button" class="row row-hit" onClick={() => go(hit)}>
            <span class="dim">{escapedLine(state.model.sessions.get(hit.session)?.info.title ?? hit.session, 24)}</span>
            <span class="dim">{escapedLine(hit.where, 40)}</span>
            <bdi>{escapedLine(hit.excerpt, 160)}</bdi>
          </button>
        )}
      />
    </>
  );
}
