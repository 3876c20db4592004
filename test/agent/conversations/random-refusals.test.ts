import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Model, ModelError, type ModelReply } from '../../../src/actors/model.ts';
import type { Conversation } from '../../../src/agent/agent-types.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { RunInput } from '../../../src/agent/options/input-parts.ts';
import type { JournalStore } from '../../../src/journal/run/run-journal.ts';
import { fileJournal } from '../../../src/journal/stores/file.ts';
import { memoryJournal } from '../../../src/journal/stores/memory.ts';
import { sqliteJournal } from '../../../src/journal/stores/sqlite.ts';
import { recover } from '../../../src/recovery/recover.ts';
import { tool } from '../../../src/tools/tool.ts';
import { calls } from '../../support/replies.ts';
import { refusable } from '../../support/refusable.ts';
import { cases, seedOr } from '../../support/soak.ts';
import { testFolder } from '../../support/test-folder.ts';

/** What the server has room for. */
const ROOM = 6000;
const ACTS = 12;
/** A plain message is answered after at most so many others. */
const PATIENCE = 8;

const image = { type: 'image', url: 'https://example.com/broken.png' } as const;
const INPUTS: readonly RunInput[] = [
  'Bad words',
  'z'.repeat(7000),
  'w'.repeat(3500),
  [{ type: 'text', text: 'Look.' }, image],
  [{ type: 'text', text: 'Bad words' }, image],
  'Hello.',
  'Hello again.',
];
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } as const;
const IN_LINE = { whenBusy: 'queue' } as const;
const RESULTS = ['seen', 'seen', 'Bad words', 'y'.repeat(8000), 'unreadable'];

/** A conversation with a server that refuses bad words, what cannot be read, and what is too long, and that fails now and then. */
class Refusals {
  readonly #random: () => number;
  readonly #journal: () => JournalStore;
  #isFickle = true;
  /** What a strict server would have refused, whatever was said. */
  readonly #wrongs = new Set<string>();

  constructor(seed: number) {
    let state = seed;
    this.#random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
    const [memory, folder] = [memoryJournal(), testFolder()];
    const journals = [() => memory, () => fileJournal(folder), () => sqliteJournal(join(folder, 'runs.sqlite'))];
    this.#journal = this.#one(journals);
  }

  #upTo(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #one<T>(list: readonly [T, ...T[]] | readonly T[]): T {
    const one = list[this.#upTo(list.length)];
    if (one === undefined) throw new Error('nothing to choose from');
    return one;
  }

  /** While somebody waits for an answer, nothing new is said that would be refused. */
  #reply(): ModelReply {
    if (!this.#isFickle) return { content: 'I am here.' };
    const number = this.#upTo(1e6);
    const asked = [
      calls(['look', { number }]),
      calls(['look', { number }], ['helper', { task: this.#one(['fine', 'Bad words']) }]),
    ];
    if (this.#upTo(4) === 0) return { content: '{"a": "b"}' };
    return this.#upTo(3) === 0
      ? { ...this.#one(asked), content: this.#one(['', '\n\n', 'Let me look.']) }
      : { content: `Answer ${number}${this.#one(['.', '.', ' Bad words'])}` };
  }

  #model(id: string): Model {
    return {
      id,
      takesImages: true,
      takesFiles: true,
      toolCalling: this.#one(['native', 'json'] as const),
      complete: async (request) => {
        const { messages } = request;
        for (const wrong of refusable(request)) this.#wrongs.add(wrong);
        const text = JSON.stringify(messages);
        if (this.#isFickle && this.#upTo(8) === 0) throw new ModelError('server-error', 'down', { status: 500 });
        if (/broken\.png|unreadable/.test(text)) throw new ModelError('bad-request', 'unreadable', { status: 400 });
        if (text.includes('Bad words')) throw new ModelError('content-filter', 'blocked', { status: 400 });
        if (text.length > ROOM) throw new ModelError('context-overflow', 'too long', { status: 400 });
        return this.#reply();
      },
    };
  }

  #agent() {
    const common = { silent: true, retry: { maxAttempts: 2, backoff: recover.constant(0) } } as const;
    const execute = (): string => this.#one(RESULTS);
    const look = tool({ name: 'look', description: 'Looks.', execute });
    const helper = createAgent({
      ...common,
      name: 'helper',
      description: 'Helps.',
      model: this.#model('below'),
      maxSteps: 3,
    });
    const models = [this.#model('one'), this.#model('two')].slice(this.#upTo(2));
    const limits = { maxSteps: 6, maxToolResultChars: 9000, maxHistoryMessages: this.#one([0, 0, 4, 40]) };
    const model = models.length === 1 ? (models[0] ?? 'practice') : models;
    return createAgent({ ...common, ...limits, model, tools: [look], children: [helper], journal: this.#journal() });
  }

  /** Says anything, maybe with a schema for the answer; it may be said more while it is answered, cancelled, and said again. */
  async #say(talk: Conversation): Promise<void> {
    const outputMode = this.#one(['auto', 'tool', 'native', 'prompt'] as const);
    const input = this.#one(INPUTS);
    const typed = { outputSchema: SCHEMA, outputMode, ...IN_LINE };
    const begun = this.#upTo(3) === 0 ? talk.run(input, typed) : talk.run(input, IN_LINE);
    if (this.#upTo(4) === 0) void begun.steer(this.#one(['Bad words', 'More.']));
    if (this.#upTo(8) === 0) void begun.queue('And then?');
    if (this.#upTo(10) === 0) void begun.cancel();
    if (this.#upTo(6) === 0) await talk.run(this.#one(INPUTS), { again: true, ...IN_LINE });
    await begun;
  }

  /** Says anything, and then something plain until that is answered. Gives how each plain run ended that was not, or what was wrong with requests. */
  async talk(): Promise<readonly string[]> {
    let agent = this.#agent();
    const reasons: string[] = [];
    for (let act = 0; act < ACTS; act++) {
      this.#isFickle = true;
      await this.#say(agent.conversation('c'));
      if (this.#upTo(5) === 0) agent = await agent.close().then(() => this.#agent());
      if (this.#upTo(3) > 0) continue;
      this.#isFickle = false;
      reasons.length = 0;
      for (let { success, reason } = await agent.conversation('c').run('Are you there?', IN_LINE); !success;) {
        if (reasons.push(reason) > PATIENCE) return reasons;
        ({ success, reason } = await agent.conversation('c').run(`And now, ${reasons.length}?`, IN_LINE));
      }
    }
    await agent.close();
    return [...this.#wrongs];
  }
}

test('whatever its server refuses, and whoever has said it, a conversation continues', async () => {
  const first = seedOr(20261129);
  for (let seed = first; seed < first + cases(12, 2000); seed++)
    expect(await new Refusals(seed).talk(), `seed ${seed}`).toEqual([]);
});
