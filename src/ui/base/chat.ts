/**
 * Owns: what requests do to the runs of one chat: begin, answer, steer, stop and resume one. Does not own: the format of
 * a request or of its response.
 *
 * I1 A client's version of the past is ignored: the history is the journal's.
 * I2 What a chat is asked to do lasts longer than the request.
 */
import type { RunInput } from '../../agent/options/input-parts.ts';
import type { Delivery, QueueOptions, RunOptions } from '../../agent/options/run-options.ts';
import { queuedIn } from '../../agent/kept-conversation.ts';
import { canContinue } from '../../agent/past/wake-runs.ts';
import type { JsonObject } from '../../json/json.ts';
import { optionsOf, wrongOption } from '../../json/known-options.ts';
import type { RunSummary } from '../../journal/format/tally.ts';
import { drivenRun } from '../../journal/run/driven-runs.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import type { ServedAgent } from './answer-approvals.ts';
import { sleep } from './follow-groups.ts';
import { checkOwner, conversationId, lastRunOf, saysSame, standingOf } from './owned-runs.ts';
import { type RunRefused, begun, recorded, unlessClosed } from './run-feed.ts';

/** What a server of chats is given. */
export interface ChatOptions {
  /** The agent's journal. */
  readonly journal: JournalStore;
  /** The owner, by the app's own authentication. Without it only chats with unguessable ids are served. */
  readonly owner?: string | undefined;
  /** What the agent's tools get. */
  readonly context?: unknown;
  /** The longest request, in bytes; others are refused with status 413. Default 16 MB: a chat posts its messages, with their images. */
  readonly maxRequestBytes?: number | undefined;
}

const checkNames = optionsOf<ChatOptions & { readonly state?: boolean }>('serve', 'docs/ui.md', {
  journal: true,
  owner: true,
  context: true,
  maxRequestBytes: true,
  state: true,
});

/** Checks how chats are served. */
export function checkServing(what: string, options: ChatOptions): void {
  checkNames(options, what);
  checkOwner(what, options.owner);
  const { journal, maxRequestBytes }: { readonly [name: string]: unknown } = { ...options };
  if (typeof Reflect.get(Object(journal), 'open') !== 'function')
    throw wrongOption(`${what}: option 'journal' must be the agent's journal.`);
  if (maxRequestBytes !== undefined && Number(maxRequestBytes) !== maxRequestBytes)
    throw wrongOption(`${what}: option 'maxRequestBytes' must be a number.`);
}

/** The outcome of a request to begin a run. */
export type ChatStart =
  | { readonly ok: true; readonly runId: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** Why a run does not accept a message. */
export interface NotTold {
  readonly code: 'over' | 'too-many';
  readonly message: string;
}

/** How often a run's records are looked at for a message that it is sent. */
const LOOK_MS = 20;

/** How long the run of a message may take to its first record once it is its turn. */
const BEGIN_MS = 30_000;

/** While others are at a chat, it is tried again after these milliseconds. */
export const BUSY_MS = [50, 200, 1000, 0] as const;

/** What a message is known by, so that it is one run however often it is sent. */
export interface KnownBy {
  readonly id: string;
  /** The run that it has begun; null where there is none. */
  readonly find: () => Promise<RunSummary | null>;
  /** Whether this run was begun by the same message: its answer is asked for again. */
  readonly isOf: (run: RunSummary) => boolean;
}

/** The messages that are beginning their runs: what comes again at the same moment is not in the journal yet. */
const beginning = new WeakMap<ServedAgent, Map<string, Promise<ChatStart>>>();

/** One chat of one owner. */
export class Chat {
  readonly #agent: ServedAgent;
  readonly #options: ChatOptions;
  readonly #ids: { readonly id: string; readonly chatId: string };

  private constructor(agent: ServedAgent, options: ChatOptions, ids: { readonly id: string; readonly chatId: string }) {
    this.#agent = agent;
    this.#options = options;
    this.#ids = ids;
  }

  /** The chat of an id; null where the owner has none of it, and can have none. */
  static of(agent: ServedAgent, chatId: string, options: ChatOptions): Chat | null {
    const id = conversationId(chatId, options.owner);
    return id === null ? null : new Chat(agent, options, { id, chatId });
  }

  /** Its last run, or the last with this metadata; null where there is none. */
  last(metadata: JsonObject = {}): Promise<RunSummary | null> {
    return lastRunOf(this.#options.journal, this.#ids.chatId, this.#options.owner, metadata);
  }

  /** The last run with this metadata, unless it has ended without an answer. */
  async begunBy(metadata: JsonObject): Promise<RunSummary | null> {
    const run = await this.last(metadata);
    return run?.state === 'ended' && run.status !== 'answered' ? null : run;
  }

  hasBegun(run: RunSummary, input: RunInput): Promise<boolean> {
    return saysSame(this.#options.journal, run, input);
  }

  /**
   * Begins a run; while another is live, in whatever process, that one's journal keeps the message until it is its turn.
   * A message that is `known` is one run, however often it is sent; without that, each is a new one.
   */
  async run(input: RunInput, metadata: JsonObject, known: KnownBy | null): Promise<ChatStart> {
    if (known === null) return this.#begun(await this.last(), input, { metadata });
    const all = beginning.get(this.#agent) ?? new Map<string, Promise<ChatStart>>();
    beginning.set(this.#agent, all);
    const key = JSON.stringify([this.#ids.id, known.id]);
    const start = all.get(key) ?? this.#runOnce(input, metadata, known).finally(() => all.delete(key));
    all.set(key, start);
    return start;
  }

  async #runOnce(input: RunInput, metadata: JsonObject, message: KnownBy): Promise<ChatStart> {
    const { id, find, isOf } = message;
    for (let tries = 0; ; tries += 1) {
      const last = await this.last();
      // Asked after that: the run of a message in line may be the last one by then.
      const known = await find();
      if (known !== null) return { ok: true, runId: known.runId };
      const isBehind = last !== null && (last.state === 'running' || (await this.isLeft(last)));
      const again = last !== null && isOf(last);
      const start = await (isBehind
        ? this.#queued(last, input, { id, metadata })
        : ((await this.#takenUp(last, message)) ?? this.#begun(last, input, { metadata, again })));
      const ms = BUSY_MS[tries];
      if (start.ok || ms === undefined || !/^(?:over|kept|conversation-busy|run-locked)$/.test(start.code))
        return start;
      await sleep(ms);
    }
  }

  /** Waits for the run of a message that the last run has kept in line: it begins without being asked for again. */
  async #takenUp(last: RunSummary | null, { id, find, isOf }: KnownBy): Promise<ChatStart | null> {
    const recording = last?.state === 'ended' ? await this.#options.journal.read?.(last.runId) : null;
    if (recording == null || !queuedIn(recording).some((one) => one.id === id)) return null;
    // Whoever has driven the last run may not be there any more.
    void this.#resumed();
    for (const until = performance.now() + BEGIN_MS; performance.now() < until;) {
      const now = await this.last();
      // One that has ended without an answer is not found.
      const run = now !== null && now.runId !== last?.runId && isOf(now) ? now : await find();
      if (run !== null) return { ok: true, runId: run.runId };
      await sleep(LOOK_MS);
    }
    return null;
  }

  async #queued({ runId }: RunSummary, input: RunInput, how: QueueOptions): Promise<ChatStart> {
    // Its process does not answer, or its journal brings nothing to other processes.
    const sent = await this.#agent.queue(runId, input, how).catch(busyIn);
    if ('code' in sent) return sent;
    if (sent.delivered) {
      const until = performance.now() + BEGIN_MS;
      if (await begun(this.#options.journal, sent.runId, () => performance.now() < until))
        return { ok: true, runId: sent.runId };
    }
    const refused = sent.delivered || sent.reason !== 'kept' ? null : await this.#goesOn(runId);
    const code = sent.delivered ? 'not-begun' : sent.reason;
    return { ok: false, ...(refused ?? { code, message: `The message was not run: ${code}.` }) };
  }

  async #begun(
    last: RunSummary | null,
    input: RunInput,
    own: Pick<RunOptions, 'metadata' | 'again'>,
  ): Promise<ChatStart> {
    const { journal, context } = this.#options;
    // What another process has left goes on before, with the context of this owner. The run reports where that fails.
    if (last?.state === 'ended' || (await this.isLeft(last)))
      this.#conversation.resume({ context, park: true }).catch(() => undefined);
    try {
      const run = this.#conversation.run(input, { whenBusy: 'queue', context, park: true, ...own });
      let isOver = false;
      const over = (): boolean => (isOver = true);
      run.then(over, over);
      if (await begun(journal, run.runId, () => !isOver)) return { ok: true, runId: run.runId };
      const { error, result } = await run;
      const otherwise = `It is not in the journal that is served, which must be that of agent '${this.#agent.name}': ${result}`;
      return { ok: false, code: error?.code ?? 'not-begun', message: error?.message ?? otherwise };
    } catch (error) {
      const { code = '', message = '' }: Partial<RunRefused> = Object(error);
      if (code !== 'agent-closed') throw error;
      return { ok: false, code, message };
    }
  }

  /** Whether no process drives its last run, which is given, and it has more to do than to wait for an answer. */
  async isLeft(last: RunSummary | null): Promise<boolean> {
    if (last?.state !== 'waiting') return last?.state === 'interrupted';
    const now = new Date();
    if (last.due == null || Date.parse(last.due) > now.getTime()) return false;
    const recording = await this.#options.journal.read?.(last.runId);
    return recording != null && canContinue(recording, now);
  }

  /** Whether its last run, which is given, waits for people only. */
  async isWaiting(last: RunSummary | null): Promise<boolean> {
    if (last === null || last.state === 'ended') return false;
    return (await standingOf(this.#options.journal, last.runId))?.isWaiting === true;
  }

  /**
   * Continues the last run if no process drives it. Resolves when it does not go on here any more, with the reason if it
   * cannot. A run that is being parked at this moment can be resumed a moment later.
   */
  async resume(): Promise<RunRefused | null> {
    return unlessClosed(await this.#resumed());
  }

  /** Continues a run as `resume` does, and resolves as soon as it is live. */
  async goesOn(runId: string): Promise<RunRefused | null> {
    return unlessClosed(await this.#goesOn(runId));
  }

  async #resumed(): Promise<RunRefused | null> {
    for (const ms of BUSY_MS) {
      try {
        await this.#conversation.resume({ context: this.#options.context, park: true });
        return null;
      } catch (error) {
        const { code = 'internal', message = String(error) }: Partial<RunRefused> = Object(error);
        if (!/^(?:agent|conversation)-busy$/.test(code)) return { code, message };
      }
      await sleep(ms);
    }
    return null;
  }

  async #goesOn(runId: string): Promise<RunRefused | null> {
    let isOver = false;
    const over = this.#resumed().finally(() => (isOver = true));
    for (;;) {
      if (isOver) return over;
      if (drivenRun(this.#options.journal, runId) !== null) return null;
      await sleep(LOOK_MS);
    }
  }

  /** Ends a run of this chat as cancelled, whichever process drives it; false if it is over. */
  stop(runId: string, reason: string): Promise<boolean> {
    return this.#agent.cancel(runId, reason);
  }

  /** Sends a run's model a message. Resolves with null once it is recorded, or with the reason if it is not accepted. */
  steer(runId: string, text: string, id: string = crypto.randomUUID()): Promise<NotTold | null> {
    return this.#told(runId, id, this.#agent.steer(runId, text, { id }));
  }

  /** Keeps a message for the run after this one, whichever process drives it. Resolves as `steer` does. */
  queue(runId: string, text: string): Promise<NotTold | null> {
    const id = crypto.randomUUID();
    return this.#told(runId, id, this.#agent.queue(runId, text, { id }));
  }

  async #told(runId: string, id: string, answer: Promise<Delivery>): Promise<NotTold | null> {
    const enough = new AbortController();
    // It resolves when the model has it, which may be much later.
    const written = recorded(this.#options.journal, runId, { id, everyMs: LOOK_MS, signal: enough.signal });
    answer.catch(() => undefined);
    written.catch(() => undefined);
    try {
      const known = await Promise.race([written, answer]);
      if (known === 'written' || known.delivered || known.reason === 'kept') return null;
      const code = known.reason === 'too-many' ? known.reason : 'over';
      return { code, message: code === 'over' ? 'The run is over.' : 'The run accepts no more messages.' };
    } finally {
      enough.abort();
    }
  }

  get #conversation() {
    const { owner } = this.#options;
    return this.#agent.conversation(this.#ids.id, owner === undefined ? {} : { owner });
  }
}

function busyIn(error: unknown): ChatStart & { readonly ok: false } {
  const { code, message = '' }: Partial<RunRefused> = Object(error);
  if (code !== 'run-locked') throw error;
  return { ok: false, code: 'conversation-busy', message };
}
