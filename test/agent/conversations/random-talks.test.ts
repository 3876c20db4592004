import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Agent } from '../../../src/agent/agent-types.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { Delivery } from '../../../src/agent/options/run-options.ts';
import type { SomeRun } from '../../../src/agent/run/run.ts';
import type { Message, Model, ModelReply } from '../../../src/actors/model.ts';
import type { JournalStore } from '../../../src/journal/run/run-journal.ts';
import { type PostgresJournal, postgresJournal } from '../../../src/journal/postgres/index.ts';
import { fileJournal } from '../../../src/journal/stores/file.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { sqliteJournal } from '../../../src/journal/stores/sqlite.ts';
import { tool } from '../../../src/tools/tool.ts';
import { calls } from '../../support/replies.ts';
import { NO_POSTGRES, startPostgres } from '../../support/postgres.ts';
import { SOAKING, cases, seedOr } from '../../support/soak.ts';
import { testFolder } from '../../support/test-folder.ts';

const ACTS = 24;
/** How long a message may be on its way to a run that another process takes, and how long its last try may take. */
const ON_THE_WAY_MS = 60_000;
const LAST_TRY_MS = 15_000;
const BUSY = ['refuse', 'queue', 'queue', 'steer', 'interrupt'] as const;
/** Nothing was taken of what was said. */
const REFUSED: ReadonlySet<unknown> = new Set(['agent-busy', 'conversation-busy', 'agent-closed', 'run-locked']);

/** A text that was said once, and what became of it. */
interface Said {
  readonly text: string;
  readonly how: 'run' | 'message';
  readonly told: Promise<Told>;
}

/** `taken`: it must be said in the end, or returned. `refused`: it must not. `open`: both are right. */
type Told = 'taken' | 'refused' | 'open';

/** Agents of one or two processes that share a conversation, people who do anything at any time, and what they were told. */
class Talk {
  readonly #random: () => number;
  readonly #open: () => JournalStore;
  readonly #agents: Agent[];
  readonly #runs: SomeRun[] = [];
  readonly #said: Said[] = [];
  readonly #others: Promise<unknown>[] = [];
  readonly #onTheirWay = new Map<string, { readonly agent: Agent; readonly since: number }>();
  /** Messages that have no place, or may have none. */
  readonly #leftOpen = new Set<string>();

  constructor(seed: number, open: () => JournalStore) {
    let state = seed;
    this.#random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
    this.#open = open;
    this.#agents = Array.from({ length: 1 + this.#upTo(2) }, () => this.#started());
  }

  #upTo(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #started(): Agent {
    const wait = (): Promise<void> => pause(this.#upTo(5));
    const number = (): number => this.#upTo(1e6);
    const complete: Model['complete'] = async (_request, { signal }) => {
      await wait();
      signal.throwIfAborted();
      const replies: readonly (() => ModelReply)[] = [
        () => ({ content: `Answer ${number()}.` }),
        () => calls(['look', { n: number() }]),
        () => calls(['look', { n: number() }], ['pay', { n: number() }]),
      ];
      return (replies[this.#upTo(4)] ?? replies[0])?.() ?? { content: '' };
    };
    const inputSchema = { type: 'object', properties: { n: { type: 'number' } } } as const;
    const look = tool({ name: 'look', description: 'Looks.', inputSchema, execute: () => wait().then(() => 'seen') });
    const once = { policy: 'confirm', effects: 'once' } as const;
    const pay = tool({ name: 'pay', description: 'Pays.', inputSchema, ...once, execute: () => 'paid' });
    const limits = { maxHistoryMessages: 0, maxSteps: 40, maxConsecutiveRepeats: 40 };
    const asks = { confirm: 'wait', silent: true, tools: [look, pay] } as const;
    return createAgent({ ...limits, ...asks, model: { id: 'random', complete }, journal: this.#open() });
  }

  get #agent(): Agent {
    return this.#agents[this.#upTo(this.#agents.length)] ?? this.#started();
  }

  #say(how: Said['how'], begin: (text: string) => Promise<Told>): void {
    const text = `say ${this.#said.length}`;
    const refused = (error: unknown): Told => {
      if (!REFUSED.has(Reflect.get(Object(error), 'code'))) throw error;
      return how === 'run' ? 'refused' : 'open';
    };
    this.#said.push({
      text,
      how,
      told: Promise.resolve()
        .then(() => begin(text))
        .catch(refused),
    });
  }

  /** Anything that can be done at any time. */
  async act(): Promise<void> {
    const run = this.#runs.at(-1 - this.#upTo(2)) ?? this.#runs.at(-1);
    const talk = this.#agent.conversation('c');
    const act = this.#upTo(run === undefined ? 5 : 18);
    if (act < 5) this.#say('run', (text) => this.#run(text));
    else if (run === undefined) return;
    else if (act < 7) this.#say('message', async (text) => toldOf(await run.steer(text)));
    else if (act < 9) this.#say('message', async (text) => toldOf(await run.queue(text)));
    else if (act === 9) this.#say('message', async (text) => toldOf(await this.#agent.steer(run.runId, text)));
    else if (act === 10) this.#say('message', async (text) => toldOf(await this.#agent.queue(run.runId, text)));
    else if (act === 11) this.#others.push(run.cancel());
    else if (act === 12) this.#others.push(run.release());
    else if (act === 13) this.#others.push(talk.resume().catch(() => null));
    else if (act === 14) this.#others.push(this.#restarted(this.#upTo(2) === 0 ? 'release' : 'cancel'));
    else this.#others.push(this.#approved(this.#agent));
    await pause(this.#upTo(9));
  }

  async #run(text: string): Promise<Told> {
    const whenBusy = BUSY[this.#upTo(BUSY.length)] ?? 'refuse';
    const agent = this.#agent;
    const run = agent.conversation('c').run(text, { whenBusy, park: this.#upTo(4) === 0 });
    this.#runs.push(run);
    const { status, error } = await run;
    // What stood in line is kept with the run that waits, and what began there is not: the caller is told the same.
    if (error?.code === 'conversation-waiting' || status === 'cancelled') return 'open';
    if (REFUSED.has(error?.code)) return whenBusy === 'refuse' ? 'refused' : 'open';
    // What comes too late for a run is on its way, and has no place where its agent is closed meanwhile.
    if (whenBusy === 'refuse' || whenBusy === 'queue') return 'taken';
    this.#onTheirWay.set(text, { agent, since: performance.now() });
    return this.#agents.includes(agent) ? 'taken' : 'open';
  }

  async #approved(agent: Agent): Promise<number> {
    const waiting = await agent.conversation('c').pending();
    const answered = waiting.map(({ runId, callId }) => agent.approve(runId, callId).catch(() => false));
    return (await Promise.all(answered)).length;
  }

  async #restarted(runs: 'release' | 'cancel'): Promise<void> {
    const [old] = this.#agents.splice(0, 1, this.#started());
    for (const [text, { agent, since }] of this.#onTheirWay)
      if (agent === old && performance.now() - since < ON_THE_WAY_MS) this.#leftOpen.add(text);
    await old?.close({ runs });
  }

  /**
   * What is not as people were told. Nothing is lost before the time is over that it may be on its way, and nothing is awaited
   * longer, however busy the machine is.
   */
  async ended(): Promise<Ended> {
    for (;;) {
      const from = performance.now();
      const end = await this.#left();
      const isOver = [...this.#onTheirWay.values()].every(({ since }) => from - since > ON_THE_WAY_MS + LAST_TRY_MS);
      if (isOver || Object.values(end).every((wrong) => wrong.length === 0)) return end;
      await pause(500);
    }
  }

  /** Answers and resumes until nothing is left to do. */
  async #left(): Promise<Ended> {
    const last = this.#started();
    const talk = last.conversation('c');
    const told = Promise.all(this.#said.map(async (one) => ({ ...one, told: await one.told })));
    const waits = new Set<unknown>([told, ...this.#others]);
    // A message on its way may still begin a run that asks, and others may wait behind that.
    for (const one of waits) void Promise.allSettled([one]).then(() => waits.delete(one));
    for (let quiet = 0; quiet < 3 || waits.size > 0;) {
      const [waiting, resumed] = [await this.#approved(last), await talk.resume({ park: true }).catch(() => 'busy')];
      const open = (await talk.runs()).filter(({ state }) => state !== 'ended');
      quiet = waiting === 0 && resumed === null && open.length === 0 ? quiet + 1 : 0;
      await pause(5);
    }
    await Promise.all(this.#others);
    const store = this.#open();
    const recordings = await Promise.all((await talk.runs()).map(async ({ runId }) => store.read?.(runId)));
    const ends = recordings.map((recording) => JSON.stringify(recording?.lines.at(-1)));
    const returned = ends.flatMap((end) =>
      [...end.matchAll(/"text":"(say \d+)","kind":"steer"/g)].map(([, text]) => text),
    );
    const history = await talk.history;
    const said = history.flatMap(({ role, content }) => (role === 'user' ? [String(content)] : []));
    const isOpen = (text: string): boolean => this.#leftOpen.has(text);
    await last.close();
    return {
      lost: (await told).filter(
        ({ text, told: what }) => what === 'taken' && !isOpen(text) && ![...said, ...returned].includes(text),
      ),
      unwanted: (await told).filter(({ text, told: what }) => what === 'refused' && said.includes(text)),
      twice: said.filter((text, at) => text.startsWith('say ') && said.indexOf(text) !== at),
      calls: unanswered(history),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.close()));
  }
}

interface Ended {
  readonly lost: readonly object[];
  readonly unwanted: readonly object[];
  readonly twice: readonly string[];
  readonly calls: readonly unknown[];
}

function toldOf(delivery: Delivery): Told {
  if (delivery.delivered || delivery.reason === 'kept') return 'taken';
  return delivery.reason === 'over' || delivery.reason === 'too-many' ? 'refused' : 'open';
}

/** The ids of calls without a result, of results without a call, and of calls that something else follows. */
function unanswered(history: readonly Message[]): readonly unknown[] {
  const open = new Set<string | undefined>();
  const wrong: (string | undefined)[] = [];
  for (const message of history) {
    if (message.role === 'tool') {
      if (!open.delete(message.toolCallId)) wrong.push(message.toolCallId);
      continue;
    }
    wrong.push(...open);
    open.clear();
    if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) open.add(id);
  }
  return [...wrong, ...open];
}

const KINDS = ['memory', 'file', 'sqlite', ...(SOAKING && NO_POSTGRES === '' ? ['postgres'] : [])];

test.each(KINDS)(
  'whatever people do in a conversation at any moment, nothing is lost, doubled or begun out of turn: %s',
  async (kind) => {
    await using server = kind === 'postgres' ? await startPostgres() : null;
    const first = seedOr(20261126);
    for (let seed = first; seed < first + cases(kind === 'memory' ? 12 : 4, 400); seed++) {
      const folder = testFolder();
      const memory = memoryJournal();
      const pools: PostgresJournal[] = [];
      const open = (): JournalStore => {
        if (kind === 'memory') return memory;
        if (server === null) return kind === 'file' ? fileJournal(folder) : sqliteJournal(join(folder, 'runs.sqlite'));
        return pools[pools.push(postgresJournal(server.url, { schema: `talk_${seed}`, migrate: true })) - 1] ?? memory;
      };
      const talk = new Talk(seed, open);
      for (let act = 0; act < ACTS; act++) await talk.act();
      expect(await talk.ended(), `seed ${seed}`).toEqual({ lost: [], unwanted: [], twice: [], calls: [] });
      await talk.close();
      await Promise.all(pools.map((pool) => pool.close()));
    }
  },
);
