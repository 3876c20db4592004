import type { Divergence, ReplayDivergenceError } from '../../journal/replay/divergence.ts';
import { memoryJournal } from '../../journal/stores/memory.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { type Matching, recordedAnswers } from './recorded-answers.ts';

/** Which leaves are answered from a recording, and how a request finds its answer. */
interface MixedJournalOptions {
  readonly recording: Recording;
  readonly isReplayed: (leaf: string) => boolean;
  readonly matching: Matching;
  /** Makes the error that the run's loop gets. */
  readonly miss: (divergence: Omit<Divergence, 'state'>) => ReplayDivergenceError;
}

/**
 * A journal of a run that happens now, in which some leaves are not performed but answered from a recording. What is not
 * recorded is thrown by `next`, never into the machine.
 */
export function mixedJournal({ recording, isReplayed, matching, miss }: MixedJournalOptions): JournalStore {
  return {
    open: (run) => {
      const live = memoryJournal().open(run);
      const answers = recordedAnswers(recording, matching);
      let missed: ReplayDivergenceError | null = null;
      return {
        ...live,
        open: (effect, perform) => {
          if (!isReplayed(effect.name)) return live.open(effect, perform);
          live.open(effect, async () => {
            const answer = answers.take(effect);
            if ('out' in answer) return answer.out;
            missed ??= miss(answer.missing);
            return { ok: false, error: { code: missed.code, message: missed.message } };
          });
        },
        next: async () => {
          const entry = await live.next();
          if (missed !== null) throw missed;
          return entry;
        },
      };
    },
  };
}
