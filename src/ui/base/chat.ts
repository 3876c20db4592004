/**
 * Owns: what requests do to the runs of one chat: begin one, answer, steer and stop it, take it up again. Does not own: how a
 * request is written, nor what it is answered with.
 *
 * I1 Nothing that a client says of the past counts: the history is the journal's.
 * I2 What a chat is asked to do lasts longer than the request.
 */
import type { RunInput } from '../../agent/options/input-parts.ts';
import type { JsonObject } from '../../json/json.ts';
import type { RunSummary } from '../../journal/format/tally.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import type { ServedAgent } from './answer-approvals.ts';
import { conversationId, lastRunOf } from './owned-runs.ts';
import { begun } from './run-feed.ts';

/** What a server of chats is given. */
export interface ChatOptions {
  /** The agent's journal. */
  readonly journal: JournalStore;
  /** Who is served, by the app's own authentication. Without it only chats count whose ids nobody can guess. */
  readonly owner?: string;
  /** What the agent's tools get. */
  readonly context?: unknown;
}

/** What became of a request to begin a run. */
export type ChatStart =
  | { readonly ok: true; readonly runId: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** While others are at a chat, it is tried again after these milliseconds. */
const RETRIES_MS = [50, 200, 1000, 0] as const;

/** One chat of one owner. */
export class Chat {
  readonly #agent: ServedAgent;
  readonly #options: ChatOptions;
  readonly #id: string;
  readonly #chatId: string;

  private constructor(agent: ServedAgent, options: ChatOptions, ids: { readonly id: string; readonly chatId: string }) {
    this.#agent = agent;
    this.#options = options;
    this.#id = ids.id;
    this.#chatId = ids.chatId;
  }

  /** The chat of an id; null where the owner has none of it, and can have none. */
  static of(agent: ServedAgent, chatId: string, options: ChatOptions): Chat | null {
    const id = conversationId(chatId, options.owner);
    return id === null ? null : new Chat(agent, options, { id, chatId });
  }

  /** Its last run; null before the first. */
  last(): Promise<RunSummary | null> {
    return lastRunOf(this.#options.journal, this.#chatId, this.#options.owner);
  }

  /** Begins a run, behind one that goes on. `metadata` finds it again. */
  async run(input: RunInput, metadata: JsonObject): Promise<ChatStart> {
    const { journal, context } = this.#options;
    const run = this.#conversation.run(input, { whenBusy: 'queue', context, metadata, park: true });
    if (await begun(journal, run)) return { ok: true, runId: run.runId };
    const { error, result } = await run;
    return { ok: false, code: error?.code ?? 'not-begun', message: error?.message ?? result };
  }

  /** Continues the last run where nobody drives it. It goes on by itself. */
  resume(): void {
    void this.#resumed();
  }

  /** A run that is being parked at this moment can be taken up a moment later. */
  async #resumed(): Promise<void> {
    for (const ms of RETRIES_MS) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- one try after the other
        await this.#conversation.resume({ context: this.#options.context, park: true });
        return;
      } catch (error) {
        if (!/^(?:agent|conversation)-busy$/.test(String(Reflect.get(Object(error), 'code')))) return;
      }
      // oxlint-disable-next-line no-await-in-loop -- see above
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  }

  /** Ends a run of this chat as cancelled, whoever drives it; false where it is over. */
  stop(runId: string, reason: string): Promise<boolean> {
    return this.#agent.cancel(runId, reason);
  }

  /** Says something to the model of a run. Resolves once it is written down. */
  async steer(runId: string, text: string, id: string | undefined): Promise<void> {
    const said = this.#agent.steer(runId, text, id === undefined ? {} : { id });
    // It resolves when the model has it, and rejects at once where it cannot be written.
    await Promise.race([said, new Promise((resolve) => setTimeout(resolve, 50))]);
    said.catch(() => undefined);
  }

  get #conversation() {
    const { owner } = this.#options;
    return this.#agent.conversation(this.#id, owner === undefined ? {} : { owner });
  }
}
