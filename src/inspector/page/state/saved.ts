import { isJsonObject } from '../../../json/json.ts';
import type { Frame, SavedPage, SharedJson, StepDetail } from '../../frames/protocol.ts';
import { unshare } from '../../frames/shared-json.ts';
import { type Desk, isStepDetail } from './desk.ts';
import { isFrame } from './feed.ts';

/** What a saved page shows, and what its desk can answer. */
export interface Saved {
  readonly frames: readonly Frame[];
  /** The ids of the session that the page is about, and of the one it is compared with; null for none. */
  readonly session: string | null;
  readonly beside: string | null;
  readonly desk: Desk;
}

/** Reads what was saved in a page; null for a page with a server behind it. */
export function readSaved(document: Document): Saved | null {
  const text = document.getElementById('signalbox-saved')?.textContent;
  if (text === undefined || text === '') return null;
  const value: unknown = JSON.parse(text);
  if (!isSaved(value)) return null;
  const frames = value.frames.filter(isFrame);
  const first = frames.find((frame) => frame.t === 'session');
  const own = reader(value.details);
  const other = value.beside === null ? null : { session: value.beside.session, of: reader(value.beside.details) };
  const refused = { ok: false, message: 'This page was saved: nothing can be changed in it.' } as const;
  return {
    frames,
    session: first?.session.id ?? null,
    beside: other?.session ?? null,
    desk: {
      acts: false,
      detail: async (session, step) => (session === other?.session ? other.of(step) : own(step)),
      act: async () => refused,
      search: async () => null,
      open: async () => refused,
      address: () => location.href,
      links: () => null,
    },
  };
}

/** Finds the details of steps; they are read when the first is asked for. */
function reader(details: SharedJson): (step: number) => StepDetail | null {
  let known: ReadonlyMap<number, StepDetail> | null = null;
  return (step) => {
    known ??= new Map(
      listOf(unshare(details))
        .filter(isStepDetail)
        .map((detail) => [detail.step.n, detail]),
    );
    return known.get(step) ?? null;
  };
}

function isSaved(value: unknown): value is SavedPage {
  if (!isJsonObject(value) || !Array.isArray(value.frames) || !isJsonObject(value.details)) return false;
  return value.beside === null || isJsonObject(value.beside);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
