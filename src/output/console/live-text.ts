import { inert } from './inert.ts';
import type { Screen } from './screen.ts';

/** Shows a reply while it arrives. */
export interface LiveText {
  token(text: string): void;
  end(): void;
  /** Whether the last reply that was streamed is this text. */
  hasShown(text: string): boolean;
}

/** A reply that begins so is meant for the machine: JSON, a code block, a tag. */
const FOR_THE_MACHINE = /^\s*[{[`<]/;

/**
 * Streams prose onto the screen of a terminal. A reply that is not meant for people, or is not `wanted` here, is not shown;
 * a spinner says that it is coming. Where there is no terminal, whole texts will do.
 */
export function liveText(
  screen: Screen,
  { live, wanted }: { readonly live: boolean; readonly wanted: boolean },
): LiveText {
  let pending = '';
  let shown = '';
  let mode: 'undecided' | 'prose' | 'hidden' = 'undecided';
  const print = (text: string): void => {
    shown += text;
    screen.raw(inert(text.replaceAll('\r', '')));
  };
  return {
    token(text) {
      if (!live || mode === 'hidden') return;
      if (mode === 'prose') return print(text);
      pending = (pending + text).trimStart();
      if (pending === '') return;
      mode = wanted && !FOR_THE_MACHINE.test(pending) ? 'prose' : 'hidden';
      shown = '';
      if (mode === 'hidden') return screen.spin('Receiving the reply');
      screen.gap();
      print(pending);
    },
    end() {
      if (mode === 'hidden') screen.stopSpinning();
      if (mode === 'prose') screen.gap();
      mode = 'undecided';
      pending = '';
    },
    hasShown: (text) => shown !== '' && shown.trim() === text.trim(),
  };
}
