import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Desk } from './desk.ts';
import type { Layouts } from './layouts.ts';
import type { PageState } from './page-state.ts';

/** What every view may use: what the page remembers, and what it can ask the server. */
export interface Page {
  readonly state: PageState;
  readonly desk: Desk;
  readonly layouts: Layouts;
}

/** Holds the page for all views below it. */
export const PageContext = createContext<Page | null>(null);

/** The page that a view belongs to. Throws outside of one, which is a mistake of ours. */
export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) throw new Error('This view stands outside of a page. Wrap it in PageContext.Provider.');
  return page;
}
