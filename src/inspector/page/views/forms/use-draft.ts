import { useState } from 'preact/hooks';
import { type AnswerDraft, NO_DRAFT } from '../../model/forms/answer-draft.ts';
import { usePage } from '../../state/page-context.ts';

/** The draft of an answer, kept by the page: an entry that is scrolled out of sight is not in the document, what was written is. */
export function useDraft(call: string): {
  readonly value: AnswerDraft;
  change(change: Partial<AnswerDraft>): void;
} {
  const { drafts } = usePage().state;
  const [, again] = useState(0);
  return {
    value: drafts.get(call) ?? NO_DRAFT,
    change: (change) => {
      drafts.set(call, { ...(drafts.get(call) ?? NO_DRAFT), ...change });
      again((n) => n + 1);
    },
  };
}
