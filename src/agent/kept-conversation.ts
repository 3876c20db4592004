import type { Message } from '../actors/model.ts';
import type { Recording } from '../journal/format/recording.ts';
import { ReplayDivergenceError } from '../journal/replay/divergence.ts';
import { playRecording } from '../journal/replay/replay.ts';
import type { JournalStore } from '../journal/run/run-journal.ts';
import type { RunSummary } from '../journal/format/tally.ts';
import { pruneHistory } from '../machines/llm-call/conversation.ts';
import type { SentMessage } from '../machines/contract/mail.ts';
import type { RunResult } from '../machines/contract/run-result.ts';
import { ConversationError } from './options/agent-errors.ts';
import type { Conversation } from './agent-types.ts';
import type { RunInput } from './options/input-parts.ts';
import type { RunOptions } from './options/run-options.ts';
import type { AnyRun, PendingApproval } from './run/run.ts';
import type { Opening, Talk } from './run-line.ts';

/** The member of a run's metadata by which it belongs to a conversation. */
export const CONVERSATION = 'conversation';

/** Brings a run to its end, with the value that its tools get. */
type CarryOn = (runId: string, context: unknown) => PromiseLike<RunResult<never>>;

/** Where a conversation is kept, if it is: a journal that can list and read its runs. */
export class KeptConversation {
  readonly #id: string;
  readonly #journal: () => JournalStore;
  readonly #maxHistory: () => number;
  /** Brings a run of it that was interrupted to its end. */
  readonly #carryOn: CarryOn;

  constructor(
    id: string,
    how: {
      readonly journal: () => JournalStore;
      readonly maxHistory: () => number;
      readonly carryOn: CarryOn;
    },
  ) {
    this.#id = id;
    this.#journal = how.journal;
    this.#maxHistory = how.maxHistory;
    this.#carryOn = how.carryOn;
  }

  /** All runs of it, the oldest first. */
  async runs(): Promise<readonly RunSummary[]> {
    const found = (await this.#journal().list?.({ metadata: { [CONVERSATION]: this.#id } })) ?? [];
    return found.toReversed();
  }

  /** Its last run; null before the first. */
  async last(): Promise<RunSummary | null> {
    const [last] = (await this.#journal().list?.({ metadata: { [CONVERSATION]: this.#id }, limit: 1 })) ?? [];
    return last ?? null;
  }

  /**
   * What the next run starts from. A run that was interrupted is brought to its end first. Rejects with a `ConversationError`
   * while another process is at it, or a person has to answer first.
   */
  async opening(): Promise<Opening> {
    const last = await this.last();
    if (last === null) return { history: [], queued: [] };
    const { runId, state } = last;
    if (state === 'running') throw new ConversationError('conversation-busy', this.#id, runId);
    if (state === 'waiting') throw new ConversationError('conversation-waiting', this.#id, runId);
    if (state !== 'ended') {
      const { status } = await this.#carryOn(runId, undefined);
      if (status === 'waiting') throw new ConversationError('conversation-busy', this.#id, runId);
    }
    return this.behind(runId);
  }

  /** Brings its last run to its end; null where there is none that was interrupted or waits. */
  async resume(context: unknown): Promise<RunResult<never> | null> {
    const last = await this.last();
    return last?.state === 'interrupted' || last?.state === 'waiting' ? this.#carryOn(last.runId, context) : null;
  }

  /** What stands behind a run of it that has ended. */
  async behind(runId: string): Promise<Opening> {
    const recording = (await this.#journal().read?.(runId)) ?? null;
    if (recording === null) return { history: [], queued: [] };
    return {
      history: pruneHistory([...messagesAfter(recording)], this.#maxHistory(), new WeakSet()),
      queued: queuedIn(recording),
    };
  }
}

/** The conversation behind a recorded run; before it, where it was recorded by other machines. */
export function messagesAfter(recording: Recording): readonly Message[] {
  const { head } = recording;
  try {
    const { driven } = playRecording(recording);
    return [...head.history, ...(driven.actor.getSnapshot().output?.messages ?? [])];
  } catch (error) {
    if (!(error instanceof ReplayDivergenceError)) throw error;
    return head.history;
  }
}

/** What was queued in a run that has ended, and has not begun. */
function queuedIn({ lines }: Recording): readonly SentMessage[] {
  const end = lines.findLast(({ t }) => t === 'end');
  const output: unknown = end?.t === 'end' ? end.output : null;
  const undelivered: unknown = typeof output === 'object' && output !== null ? Reflect.get(output, 'undelivered') : [];
  return Array.isArray(undelivered)
    ? undelivered.flatMap(({ id, text, kind }: { id: string; text: string; kind: string }) =>
        kind === 'queue' ? [{ id, text }] : [],
      )
    : [];
}

/** What the handle of a conversation needs of its agent. */
interface ConversationPort {
  /** Whether the journal tells what was said; otherwise memory alone does. */
  readonly isKept: boolean;
  readonly talk: () => Talk | undefined;
  readonly run: (input: RunInput, given: RunOptions) => AnyRun;
  readonly pendingOf: (runId: string) => readonly PendingApproval[] | Promise<readonly PendingApproval[]>;
}

/** The handle of a conversation. It holds nothing: any number of them stand for the same one. */
export function conversationHandle(
  id: string,
  kept: KeptConversation,
  { isKept, talk, run, pendingOf }: ConversationPort,
): Conversation<unknown, AnyRun> {
  const history = async (): Promise<readonly Message[]> => {
    const last = isKept && talk()?.live == null ? await kept.last() : null;
    return last === null ? (talk()?.history ?? []) : (await kept.behind(last.runId)).history;
  };
  return {
    id,
    run: (input: RunInput, given?: object) => run(input, given === undefined ? {} : given),
    get history() {
      return history();
    },
    runs: () => kept.runs(),
    pending: async () => {
      const last = await kept.last();
      return last === null ? [] : pendingOf(last.runId);
    },
    resume: ({ context } = {}) => kept.resume(context),
  };
}
