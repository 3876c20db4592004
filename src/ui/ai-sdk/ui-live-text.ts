import type { LiveText } from '../base/run-feed.ts';
import type { UiChunk } from './ui-chunk.ts';

/**
 * What one client is shown of a reply while the model writes it. It is not recorded: the group of the reply has all of
 * it, and what was shown before is removed first.
 */
export class UiLiveText {
  #shown: Pick<LiveText, 'attempt' | 'thought' | 'answer'> | null = null;
  #count = 0;
  #open: { readonly kind: 'text' | 'reasoning'; readonly id: string } | null = null;

  /** What is new in the text. */
  show(text: LiveText): readonly UiChunk[] {
    const before = this.#shown ?? { attempt: text.attempt, thought: '', answer: '' };
    const grew =
      before.attempt === text.attempt &&
      text.thought.startsWith(before.thought) &&
      text.answer.startsWith(before.answer);
    if (!grew) return [...this.takeBack(), ...this.show(text)];
    this.#shown = text;
    return [
      ...this.#add('reasoning', text.thought.slice(before.thought.length)),
      ...this.#add('text', text.answer.slice(before.answer.length)),
    ];
  }

  /** Removes what was shown. */
  takeBack(): readonly UiChunk[] {
    const wasShown = this.#shown !== null;
    this.#shown = null;
    this.#open = null;
    return wasShown ? [{ type: 'reset-step' }] : [];
  }

  #add(kind: 'text' | 'reasoning', delta: string): readonly UiChunk[] {
    if (delta === '') return [];
    const before = this.#open;
    if (before?.kind === kind) return [{ type: `${kind}-delta`, id: before.id, delta }];
    const id = `live:${++this.#count}`;
    this.#open = { kind, id };
    const end: readonly UiChunk[] = before === null ? [] : [{ type: `${before.kind}-end`, id: before.id }];
    return [...end, { type: `${kind}-start`, id }, { type: `${kind}-delta`, id, delta }];
  }
}
