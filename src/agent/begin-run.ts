import { wrongOption } from '../json/known-options.ts';
import type { OwnRedactor } from '../actors/redactor.ts';
import type { JsonObject } from '../json/json.ts';
import type { JournalStore } from '../journal/run/run-journal.ts';
import type { AnyResult } from '../machines/contract/run-result.ts';
import type { AgentCore } from './core/agent-core.ts';
import type { Opening } from './kept-conversation.ts';
import { type ReadInput, type RunInput, readInput } from './options/input-parts.ts';
import { type TypedOutput, typedOutput } from './options/output-options.ts';
import {
  type ConversationName,
  type RunOptions,
  conversationMetadata,
  metadataOf,
  newRunId,
} from './options/run-options.ts';
import { type RunToLaunch, launchRun } from './run/launch-run.ts';
import { newHead, saidOnce } from './run/new-head.ts';
import type { RunsOf } from './past/live-runs.ts';
import type { MakeStart, NextRuns, StartedRun } from './run/run-plan.ts';

/** What a run that is begun belongs to. */
export interface BegunAs {
  /** Waits until it is the run's turn. */
  opening(signal: AbortSignal): Opening | Promise<Opening>;
  onDone?(result: AnyResult | null, opening: Opening): Promise<unknown> | undefined;
  readonly next?: NextRuns;
  readonly onStable?: () => void;
  /** What the run is made with. Default: the agent's own parts. */
  readonly as?: AgentCore;
  /** The conversation that it belongs to, and the owner whose "always allow" counts in it. Default: the agent's own. */
  readonly conversation?: ConversationName;
  /** Marks of other runs stand for nothing in it. Default: it shares those of the agent's own conversation. */
  readonly hasOwnMarks?: boolean;
}

/** Begins a run of an agent. Throws a `TypeError` for a wrong input or option. */
export function beginRun(core: AgentCore, live: RunsOf, input: RunInput, given: RunOptions, as: BegunAs): StartedRun {
  return new BegunRun(core, live, input, given, as).started;
}

class BegunRun implements RunToLaunch {
  readonly started: StartedRun;
  readonly runId: string;
  readonly task: string;
  readonly given: RunOptions;
  readonly resumable: boolean;
  readonly onStable: RunToLaunch['onStable'];
  readonly next: RunToLaunch['next'];
  readonly #core: AgentCore;
  readonly #live: RunsOf;
  readonly #as: BegunAs;
  readonly #input: ReadInput;
  readonly #metadata: JsonObject;
  readonly #output: TypedOutput | null;
  readonly #redactor: OwnRedactor;
  readonly #unfollow: () => void;
  #opening: Opening | null = null;

  constructor(core: AgentCore, live: RunsOf, input: RunInput, given: RunOptions, as: BegunAs) {
    this.#core = core;
    this.#live = live;
    this.#as = as;
    this.given = given;
    this.runId = given.runId ?? newRunId();
    this.#input = readInput(input);
    this.task = this.#input.task;
    this.#metadata = metadataOf(given.metadata);
    this.resumable = this.#journal.take !== undefined;
    if (given.park === true && !this.resumable)
      throw wrongOption("agent.run: option 'park' needs a journal that runs can be resumed from.");
    this.#output = typedOutput('agent.run', { ...given, timeouts: core.options.timeouts });
    this.#redactor = as.hasOwnMarks === true ? core.redaction.separate() : core.redactor;
    this.onStable = as.onStable;
    this.next = as.next;
    this.started = launchRun(core, this);
    this.started.owner = as.conversation?.owner;
    live.runs.set(this.started, null);
    this.#unfollow = live.news.follow();
  }

  get #journal(): JournalStore {
    return this.given.journal ?? this.#core.journal();
  }

  redactor(): OwnRedactor {
    return this.#redactor;
  }

  async prepare(signal: AbortSignal): Promise<MakeStart> {
    const { as = this.#core, conversation } = this.#as;
    const { maxSteps, park } = this.given;
    const [core, output, owner] = [this.#core, this.#output, conversation?.owner];
    const opened = saidOnce(await this.#as.opening(signal), this.#input, this.given, core.registry);
    this.#opening = opened;
    const makeSetup = await as.prepare({
      ...(maxSteps === undefined ? {} : { maxSteps }),
      ...(output === null ? {} : { output }),
      owner,
      signal,
    });
    return (cancelled) => {
      const setup = makeSetup();
      this.#live.runs.set(this.started, setup.toolset);
      const isOf = conversation !== undefined && opened.isAside !== true;
      const metadata = isOf ? { ...this.#metadata, ...conversationMetadata(conversation) } : this.#metadata;
      const [runId, input, redactor] = [this.runId, this.#input, this.#redactor];
      const head = newHead(core, { runId, input, opened, setup, metadata, cancelled, redactor });
      const work = as.work({ output, owner, park: park === true });
      return { head, work, journal: (accepts) => this.#journal.open({ head, accepts }) };
    };
  }

  async onDone(result: AnyResult | null): Promise<void> {
    this.#unfollow();
    this.#live.runs.delete(this.started);
    this.#live.rest();
    // A run that never began adds nothing.
    const said = result === null || this.#opening === null ? null : this.#redactor.restore(result);
    await this.#as.onDone?.(said, this.#opening ?? { history: [], queued: [] });
  }
}
