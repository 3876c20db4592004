import type { Act, StepDetail } from '../../frames/protocol.ts';

/** What became of an order. */
export type Answer =
  | { readonly ok: true; readonly session: string | null }
  | { readonly ok: false; readonly message: string };

/** What the page can ask for: the server, or, in a saved page, what was saved with it. */
export interface Desk {
  /** False in a saved page: nothing can be ordered. */
  readonly acts: boolean;
  detail(session: string, step: number): Promise<StepDetail | null>;
  act(session: string, act: Act): Promise<Answer>;
  /** Reads a recording into a new session. */
  open(name: string, text: string): Promise<Answer>;
  /** Where the recording and the saved page of a session are to be had, that with another beside it; null in a saved page. */
  links(session: string, beside: string | null): { readonly recording: string; readonly page: string } | null;
}
