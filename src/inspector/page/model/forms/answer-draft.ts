import type { JsonObject } from '../../../../json/json.ts';

/** What somebody has written so far in answer to a call that waits. */
export interface AnswerDraft {
  /** What the arguments were edited to; `wrong`: since then to what cannot be approved. Null: nobody edits them. */
  readonly edited: { readonly args: JsonObject; readonly wrong: boolean } | null;
  readonly reason: string;
}

export const NO_DRAFT: AnswerDraft = { edited: null, reason: '' };
