import type { Message } from '../actors/model.ts';
import { JournalError } from '../journal/format/journal-error.ts';
import { RUN_ID } from '../journal/format/record.ts';
import type { Recording } from '../journal/format/recording.ts';
import { saidIn } from '../journal/replay/replay.ts';
import type { JournalStore } from '../journal/run/run-journal.ts';
import type { RunSummary } from '../journal/format/tally.ts';
import { pruneHistory } from '../machines/llm-call/conversation.ts';
import type { SentMessage } from '../machines/contract/mail.ts';
import type { AnyResult, RunResult, UndeliveredMessage } from '../machines/contract/run-result.ts';
import { ConversationError } from './options/agent-errors.ts';
import type { Conversation } from './agent-types.ts';
import type { RunInput } from './options/input-parts.ts';
import { type Delivery, type ResumeOptions, type RunOptions, conversationMetadata } from './options/run-options.ts';
import { type Inherited, newRunId, ownerIn } from './options/run-options.ts';
import type { AnyRun, PendingApproval } from './run/run.ts';
import { type MessageRequest, isElsewhere } from './run/ask-run.ts';
import type { NextRuns, StartedRun } from './run/run-plan.ts';

/** What a run of a conversation starts from, known when it is its turn. */
export interface Opening {
  readonly history: readonly Message[];
  /** Messages for the runs after it, and whose run they were sent to. */
  readonly queued: readonly SentMessage[];
  readonly owner?: string | undefined;
  /** It never began: it was cancelled while it waited, and is not part of the conversation. */
  readonly isAside?: boolean;
  /** What is missing in the history, for the run to say. */
  readonly warnings?: readonly string[];
  /** When the run begins, as an ISO date: always later than the run before it, whatever the clock says. Default: now. */
  readonly at?: string;
}

/** Where a conversation is kept for later processes. */
export type Keeper = Pick<KeptConversation, 'id' | 'hold' | 'opening' | 'last' | 'idFor'>;

/** What the next run of a conversation starts from, once the last one has ended. */
export interface Reopened extends Opening {
  /** The run that was brought to its end for it. */
  readonly resumed: AnyResult | null;
}

/** How a conversation is resumed. */
export interface Reopening {
  /** The value that the tools of an interrupted run get. */
  readonly context: unknown;
  /** Also resumes a run that waits for a person. */
  readonly waiting: boolean;
  /** As in the options of a run. */
  readonly park: boolean;
  /** What becomes of messages that are queued in it. */
  readonly next: NextRuns;
}

/** What a conversation needs of its agent. */
export interface LiveConversationPort {
  readonly agent: string;
  /** Starts a run whose turn comes when `opening` resolves. */
  begin(input: RunInput, given: RunOptions & Inherited, own: ConversationRun): StartedRun;
  maxHistory(): number;
  /** Sends a run a message; one that is released at that moment has it when it is resumed. */
  ask(runId: string, message: MessageRequest): Promise<Delivery>;
  /** Absent: this process has all of it. */
  readonly keeper?: Keeper | null;
  /** Called when no run is live or waiting in it any more. */
  onIdle?(): void;
}

/** A run of a conversation, as it is begun. */
export interface ConversationRun {
  readonly opening: (signal: AbortSignal) => Promise<Opening>;
  readonly onDone: (result: AnyResult | null, opening: Opening) => Promise<unknown> | undefined;
  readonly next: NextRuns;
}

/** A run that waits until the one before it is over. */
export interface InLine {
  readonly id: string;
  readonly message: SentMessage;
  readonly started: StartedRun;
  /** A person has its handle: it is not the run of a message alone. */
  readonly isHandled: boolean;
  readonly turn: PromiseWithResolvers<readonly SentMessage[]>;
}

/** What a kept conversation needs from its agent. */
interface KeptPort {
  readonly journal: () => JournalStore;
  readonly maxHistory: () => number;
  /** Brings a run to its end, with the value that its tools get. */
  readonly carryOn: (runId: string, how: Pick<Reopening, 'context' | 'park' | 'next'>) => PromiseLike<AnyResult>;
}

/** Owns: one conversation in a journal that can list and read its runs. Does not own: the live runs in it. */
export class KeptConversation {
  readonly id: string;
  readonly #port: KeptPort;

  constructor(id: string, port: KeptPort) {
    this.id = id;
    this.#port = port;
  }

  /** All runs of it, the oldest first. */
  async runs(): Promise<readonly RunSummary[]> {
    return (await this.#list()).toReversed();
  }

  /** Its last run; null before the first. */
  async last(): Promise<RunSummary | null> {
    return (await this.#list(1))[0] ?? null;
  }

  /** Its messages, without those of a run that has not ended. */
  async history(): Promise<readonly Message[]> {
    const last = await this.last();
    return last === null ? [] : (await this.#behind(last.runId)).history;
  }

  /** Makes this process the only one that uses it; returns a function that releases it. Rejects with a `ConversationError`. */
  async hold(): Promise<() => void | Promise<void>> {
    const journal = this.#port.journal();
    if (journal.claim === undefined) return () => undefined;
    const leave = await journal.claim(`conversation ${this.id}`);
    if (leave === null) throw new ConversationError('conversation-busy', this.id, (await this.last())?.runId ?? null);
    return leave;
  }

  /** Brings an interrupted run of it to its end, and returns what the next run starts from. */
  async opening({ context, park, waiting, next }: Reopening): Promise<Reopened> {
    const last = await this.last();
    if (last === null) return { history: [], queued: [], resumed: null };
    const { runId, state } = last;
    if (state === 'running') throw new ConversationError('conversation-busy', this.id, runId);
    if (state === 'waiting' && !waiting) throw new ConversationError('conversation-waiting', this.id, runId);
    const resumed = state === 'ended' ? null : await this.#carriedOn(runId, { context, park, next });
    if (resumed?.status === 'waiting' && park) return { history: [], queued: [], resumed };
    if (resumed?.status === 'waiting') throw new ConversationError('conversation-waiting', this.id, runId);
    // A run whose end could not be written has not ended: nothing may begin after it.
    if (resumed !== null && (await this.last())?.state !== 'ended') throw unended(runId, resumed);
    const behind = await this.#behind(runId);
    return { ...behind, queued: await this.#wanted(behind.queued), at: last.at, resumed };
  }

  /** The id of the run that a message becomes: its own, with which it stands in line in a process that may not know that it has lost it. */
  async idFor(id: string): Promise<string> {
    return RUN_ID.test(id) && (await this.#port.journal().read?.(id)) == null ? id : newRunId();
  }

  /** Without those whose runs were cancelled in line when the run that had them could no longer take them out. */
  async #wanted(queued: readonly SentMessage[]): Promise<readonly SentMessage[]> {
    const isCancelled = async ({ id }: SentMessage): Promise<boolean> =>
      RUN_ID.test(id) && (await this.#port.journal().read?.(id))?.head.cancelled !== undefined;
    const cancelled = await Promise.all(queued.map(isCancelled));
    return queued.filter((_, at) => cancelled[at] !== true);
  }

  async #carriedOn(runId: string, how: Pick<Reopening, 'context' | 'park' | 'next'>): Promise<AnyResult> {
    try {
      return await this.#port.carryOn(runId, how);
    } catch (error) {
      if (!(error instanceof JournalError) || error.code !== 'run-locked') throw error;
      throw new ConversationError('conversation-busy', this.id, runId);
    }
  }

  async #list(limit?: number): Promise<readonly RunSummary[]> {
    const metadata = conversationMetadata({ id: this.id, owner: this.id });
    return (await this.#port.journal().list?.({ metadata, ...(limit === undefined ? {} : { limit }) })) ?? [];
  }

  async #behind(runId: string): Promise<Opening> {
    const recording = (await this.#port.journal().read?.(runId)) ?? null;
    if (recording === null) return { history: [], queued: [] };
    const { messages, isWhole } = saidIn(recording);
    const inside = new Set(messages.slice(recording.head.history.length + 1));
    return {
      history: withoutMarks(pruneHistory(messages, this.#port.maxHistory(), inside)),
      owner: ownerIn(recording.head),
      queued: withoutMarks(queuedIn(recording)),
      warnings: isWhole ? [] : [leftOut(runId)],
    };
  }
}

/** The message to a person about a run that this version cannot replay. */
function leftOut(runId: string): string {
  return `What was said last, in run ${runId}, was recorded by another version and is left out of the conversation.`;
}

function unended(runId: string, { error, result }: AnyResult): Error {
  const text = `Run ${runId} could not be brought to its end, and has to be resumed first: ${error?.message ?? result}`;
  return Object.assign(new Error(text), { code: error?.code ?? 'internal' });
}

/** Why a message to a run stays with it instead of becoming the next run: its end could not be written. Null: it can. */
export async function keptBy(run: AnyRun, sent: Promise<Delivery>): Promise<Error | null> {
  const what = await sent.catch(() => null);
  return what?.delivered === false && what.reason === 'kept' ? unended(run.runId, await run) : null;
}

/** Leaves a conversation to others. */
export function free(leave: (() => void | Promise<void>) | null): Promise<unknown> {
  return Promise.resolve(leave?.()).catch(() => undefined);
}

/** The secret behind a mark of a finished run is no longer known, and another run may use the same mark for something else. */
function withoutMarks<T extends readonly (Message | SentMessage)[]>(messages: T): T {
  const text = JSON.stringify(messages);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing but texts is changed
  return text.includes('«secret:') ? (JSON.parse(text.replaceAll(/«secret:\d+»/g, '«secret»')) as T) : messages;
}

/** What an earlier process left has been run. */
interface CaughtUp {
  /** What the next run starts from. */
  readonly behind: Opening;
  /** The result of the first run. */
  readonly first: AnyResult | null;
  /** The run that waits for a person or was released, and has what is left; null: all has been run. */
  readonly waits: string | null;
}

/** Runs what an earlier process left, one after the other, until a run has to wait. */
export async function caughtUp(
  keeper: Keeper,
  how: Reopening,
  run: (message: SentMessage, left: Opening, runId: string) => PromiseLike<AnyResult>,
): Promise<CaughtUp> {
  let before: string | null = null;
  let first: AnyResult | null = null;
  let last: AnyResult | null = null;
  for (;;) {
    const { resumed, ...behind } = await keeper.opening(how);
    first ??= resumed;
    last = resumed ?? last;
    // A journal has them without their secrets.
    const known = last?.undelivered?.flatMap(queuedOf) ?? [];
    const [message, ...queued] = behind.queued.map((one) => known.find(({ id }) => id === one.id) ?? one);
    if (message === undefined) return { behind, first, waits: resumed?.status === 'waiting' ? resumed.runId : null };
    if (message.id === before) throw new Error('A message that was queued before could not become a run.');
    before = message.id;
    const result = await run(message, { ...behind, queued }, await keeper.idFor(message.id));
    if (isElsewhere(result)) throw new ConversationError('conversation-busy', keeper.id, result.runId);
    first ??= result;
    last = result;
    if (result.status === 'waiting') return { behind, first, waits: result.runId };
  }
}

/** What was queued in a run that has ended, and has not begun. */
export function queuedIn({ lines }: Recording): readonly SentMessage[] {
  const end = lines.findLast(({ t }) => t === 'end');
  const output: unknown = end?.t === 'end' ? end.output : null;
  const undelivered: unknown = typeof output === 'object' && output !== null ? Reflect.get(output, 'undelivered') : [];
  return Array.isArray(undelivered) ? undelivered.flatMap(queuedOf) : [];
}

function queuedOf({ kind, ...message }: UndeliveredMessage): readonly SentMessage[] {
  return kind === 'queue' ? [message] : [];
}

/** What the handle of a conversation needs of its agent. */
interface ConversationPort {
  readonly run: (input: RunInput, given: RunOptions) => AnyRun;
  readonly history: () => Promise<readonly Message[]>;
  readonly resume: (how: Pick<ResumeOptions, 'context' | 'park'>) => Promise<AnyResult | null>;
  readonly pendingOf: (runId?: string) => readonly PendingApproval[] | Promise<readonly PendingApproval[]>;
}

/** The handle of a conversation. It keeps no state, so several handles of one conversation are the same. */
export function conversationHandle(
  id: string,
  kept: KeptConversation,
  { run, history, resume, pendingOf }: ConversationPort,
): Conversation<unknown, AnyRun> {
  return {
    id,
    run: (input: RunInput, given?: object) => run(input, given === undefined ? {} : given),
    get history() {
      return history();
    },
    runs: () => kept.runs(),
    pending: async () => pendingOf((await kept.last())?.runId),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what its answer is, the run that is resumed knows
    resume: async (how = {}) => (await resume(how)) as RunResult<never> | null,
  };
}

/** What {@link aborted} returns. */
export const ABORTED: unique symbol = Symbol('aborted');

/** Resolves once the signal has aborted. */
export function aborted(signal: AbortSignal): Promise<typeof ABORTED> {
  if (signal.aborted) return Promise.resolve(ABORTED);
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(ABORTED), { once: true }));
}
