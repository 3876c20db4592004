import { inSlices } from '../frames/event-loop.ts';
import type { SearchPage } from '../frames/protocol.ts';
import { findInRecord, wantedText } from '../frames/record-search.ts';
import type { Session } from '../sessions/session.ts';

const MOST_HITS = 100;
/** One run does not take the room of all others. */
const MOST_OF_ONE = 5;
const MOST_CHARACTERS = 200;
const MOST_MS = 5000;

/**
 * Where a text occurs in the records of sessions, the newest first. Looks in slices, as agents may run in this process; ends
 * after 100 places or 5 seconds, and says so.
 */
export async function searchSessions(sessions: readonly Session[], query: string): Promise<SearchPage> {
  const wanted = wantedText(query.slice(0, MOST_CHARACTERS));
  const hits: SearchPage['hits'][number][] = [];
  if (wanted === '') return { hits, partial: false };
  const left = sessions.toSorted((one, other) => one.info().at.localeCompare(other.info().at));
  const until = performance.now() + MOST_MS;
  const isLate = (): boolean => performance.now() > until;
  let partial = false;
  let reading: ReturnType<typeof linesOf> | null = null;
  await inSlices(() => {
    if (reading === null) {
      const session = left.pop();
      if (session === undefined) return false;
      reading = linesOf(session);
    }
    if (hits.length >= MOST_HITS || isLate()) {
      partial = true;
      return false;
    }
    const record = reading.next();
    if (record === null || reading.found >= MOST_OF_ONE) {
      partial ||= record !== null;
      reading = null;
      return true;
    }
    reading.line += 1;
    const found = findInRecord(record, wanted);
    if (found === null) return true;
    reading.found += 1;
    hits.push({ session: reading.session, line: reading.line, ...found });
    return true;
  }, isLate);
  return { hits, partial: partial || left.length > 0 };
}

function linesOf(session: Session) {
  return { session: session.id, line: 0, found: 0, next: session.records?.() ?? (() => null) };
}
