import { inert } from './inert.ts';
import type { Screen } from './screen.ts';
import { type WordFlow, wordFlow } from './word-flow.ts';

/** Shows a reply while it arrives. */
export interface LiveText {
  token(text: string): void;
  end(): void;
  /** Whether the last reply that was streamed is this text. */
  hasShown(text: string): boolean;
}

/** Where and whether replies are streamed. */
export interface LiveTextOptions {
  /** False where there is no terminal: then whole texts will do. */
  readonly live: boolean;
  /** False where the answer is shown elsewhere. */
  readonly wanted: boolean;
  readonly columns: () => number;
}

/** A reply that begins so is meant for the machine: JSON, a code block, a tag. */
const FOR_THE_MACHINE = /^(?:[{[<]|```)/;
/** What may still become one of those. */
const UNCLEAR = /^`{1,2}$/;

/**
 * Streams prose onto the screen of a terminal. A reply that is not meant for people, or is not `wanted` here, is not shown;
 * a spinner says that it is coming.
 */
export function liveText(screen: Screen, { live, wanted, columns }: LiveTextOptions): LiveText {
  let pending = '';
  let shown = '';
  let mode: 'undecided' | 'prose' | 'hidden' = 'undecided';
  let flow: WordFlow = wordFlow(columns());
  const print = (text: string): void => {
    shown += text;
    screen.raw(flow.add(inert(text.replaceAll('\r', ''))));
  };
  const begin = (): void => {
    shown = '';
    mode = wanted && !FOR_THE_MACHINE.test(pending) ? 'prose' : 'hidden';
    if (mode === 'hidden') return screen.spin('Receiving the reply');
    flow = wordFlow(columns());
    screen.gap();
    print(pending);
  };
  return {
    token(text) {
      if (!live || mode === 'hidden') return;
      if (mode === 'prose') return print(text);
      pending = (pending + text).trimStart();
      if (pending !== '' && !UNCLEAR.test(pending)) begin();
    },
    end() {
      if (mode === 'undecided' && pending !== '') begin();
      if (mode === 'hidden') screen.stopSpinning();
      if (mode === 'prose') {
        screen.raw(flow.end());
        screen.gap();
      }
      mode = 'undecided';
      pending = '';
    },
    hasShown: (text) => shown !== '' && shown.trim() === text.trim(),
  };
}
