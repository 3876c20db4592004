import { isJsonObject } from '../../../parsing/json.ts';
import type { Frame, SavedPage, StepDetail } from '../../protocol.ts';
import { unshare } from '../../shared-json.ts';
import type { Desk } from './desk.ts';
import { isFrame } from './feed.ts';

/** What a saved page shows, and what its desk can answer. */
export interface Saved {
  readonly frames: readonly Frame[];
  readonly desk: Desk;
}

/** Reads what was saved in a page; null for a page with a server behind it. */
export function readSaved(document: Document): Saved | null {
  const text = document.getElementById('signalbox-saved')?.textContent;
  if (text === undefined || text === '') return null;
  const value: unknown = JSON.parse(text);
  if (!isSaved(value)) return null;
  let details: readonly unknown[] | null = null;
  const refused = { ok: false, message: 'This page was saved: nothing can be changed in it.' } as const;
  return {
    frames: value.frames.filter(isFrame),
    desk: {
      acts: false,
      detail: async (_, step) => {
        details ??= listOf(unshare(value.details));
        const found = details[step - 1];
        return isDetail(found) ? found : null;
      },
      act: async () => refused,
      open: async () => refused,
      links: () => null,
    },
  };
}

function isSaved(value: unknown): value is SavedPage {
  return isJsonObject(value) && Array.isArray(value.frames) && isJsonObject(value.details);
}

function isDetail(value: unknown): value is StepDetail {
  return isJsonObject(value) && isJsonObject(value.step) && Array.isArray(value.candidates);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
