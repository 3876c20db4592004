/** What runs and agents hold, each figure as a line of JSON. Run with `--expose-gc`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { Agent } from '../../../src/agent/agent-types.ts';
import type { Model } from '../../../src/actors/model.ts';
import {
  type JournalStore,
  type RunHead,
  type RunJournal,
  fileJournal,
  liveJournal,
} from '../../../src/journal/index.ts';
import { simulate } from '../../../src/testing/simulate.ts';
import { tool } from '../../../src/tools/tool.ts';

const add = tool({
  name: 'add',
  description: 'Adds.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  policy: 'allow',
  effects: 'none',
  execute: ({ a, b }) => Number(a) + Number(b),
});

/** Calls the tool `together` times in each of so many turns, then answers. */
function caller(turns: number, together = 1): Model {
  return {
    id: 'caller',
    complete: ({ messages }) => {
      const turn = messages.filter(({ role }) => role === 'tool').length / together;
      if (turn >= turns) return Promise.resolve({ content: 'done' });
      const toolCalls = Array.from({ length: together }, (_, b) => ({
        id: `call_${turn}_${b}`,
        name: 'add',
        arguments: JSON.stringify({ a: turn, b }),
      }));
      return Promise.resolve({ content: '', toolCalls });
    },
  };
}

async function runOf(turns: number, { together = 1, journal }: { together?: number; journal?: JournalStore } = {}) {
  const agent = createAgent({
    model: caller(turns, together),
    tools: [add],
    maxSteps: turns + 1,
    maxHistoryMessages: 0,
    silent: true,
    ...(journal === undefined ? {} : { journal }),
  });
  const run = agent.run('Add');
  await run.orThrow();
  // A run is awaitable: by itself it would become its result.
  return { run };
}

/** A hundred calls in each of so many turns. */
async function manyCalls(turns: number): Promise<void> {
  const options = { tools: [add], maxSteps: turns + 1, silent: true, maxHistoryMessages: 1 };
  await createAgent({ model: caller(turns, 100), ...options })
    .run('Add')
    .orThrow();
  // What weak references point to is kept until the event loop turns, which no real model holds up.
  await new Promise((resolve) => setImmediate(resolve));
}

/** Keeps its run, all of it, for as long as it is there itself. */
class OwnJournal implements JournalStore {
  run: RunJournal | null = null;

  open(head: RunHead): RunJournal {
    return (this.run = liveJournal(head, { append: () => undefined, close: () => undefined }));
  }
}

/** Bytes that each of some runs leaves behind once it has ended, without a full collection. */
async function leftBehind(run: () => Promise<unknown>): Promise<number> {
  const runs = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 1) {
      await run();
      // What weak references point to is kept until the event loop turns.
      await new Promise((resolve) => setImmediate(resolve));
      // Twice, so that what survives is old.
      globalThis.gc?.({ type: 'minor' });
      globalThis.gc?.({ type: 'minor' });
    }
  };
  await runs(100);
  heapUsed();
  await runs(10);
  const before = process.memoryUsage().heapUsed;
  await runs(50);
  return (process.memoryUsage().heapUsed - before) / 50;
}

function heapUsed(): number {
  for (let times = 0; times < 4; times += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Bytes that each of `count` things that are made holds: what is free when they are let go. */
async function held<T>(count: number, make: () => T | Promise<T>): Promise<number> {
  const kept: Awaited<T>[] = [];
  // In a function of its own: one that is not over holds the last that it has waited for.
  await (async () => {
    for (let made = 0; made < count; made += 1) kept.push(await make());
  })();
  const holding = heapUsed();
  kept.length = 0;
  return (holding - heapUsed()) / count;
}

const figures = {
  'a kept run of 100 turns': () => held(10, () => runOf(100)),
  'a kept run of 1000 turns': () => held(1, () => runOf(1000)),
  'an idle agent': () => held(2000, () => createAgent({ model: caller(0), tools: [add], silent: true })),
  'an agent after its run': () =>
    held(500, async () => {
      const agent = createAgent({ model: caller(0), tools: [add], silent: true });
      await agent.run('Add').orThrow();
      return agent;
    }),
  'an agent in its first request': async () => {
    const agents: Agent[] = [];
    const startOne = async (): Promise<void> => {
      const { promise: isAsked, resolve } = Promise.withResolvers<void>();
      const complete = (): Promise<never> => {
        resolve();
        return new Promise(() => undefined);
      };
      const agent = createAgent({ model: { complete }, tools: [add], silent: true });
      agent.run('Add');
      await isAsked;
      agents.push(agent);
    };
    while (agents.length < 100) await startOne();
    const before = heapUsed();
    while (agents.length < 600) await startOne();
    return (heapUsed() - before) / 500;
  },
  'what an agent has said before its history': async () => {
    const model: Model = {
      complete: async ({ messages }) =>
        messages.at(-1)?.role === 'user'
          ? { content: '', toolCalls: [{ name: 'add', arguments: {} }] }
          : { content: 'done' },
    };
    const agent = createAgent({ model, tools: [add], silent: true });
    const runs = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 1) {
        await agent.run(`Add. ${'So that it can be seen. '.repeat(1000)}${done}`).orThrow();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await runs(100);
    const before = heapUsed();
    await runs(300);
    return (heapUsed() - before) / 300;
  },
  'the history of an agent whose model thinks aloud': async () => {
    const model: Model = {
      complete: async ({ messages }) => ({
        content: `<think>${'Let me see. '.repeat(8000)}${messages.length}</think>This is the answer number ${messages.length}.`,
      }),
    };
    const agentOf20Runs = async () => {
      const agent = createAgent({ model, silent: true });
      for (let done = 0; done < 20; done += 1) await agent.run('Think').orThrow();
      return agent;
    };
    // The first is held, too, for what is made once.
    const agents = [await agentOf20Runs()];
    const before = heapUsed();
    agents.push(await agentOf20Runs());
    const bytes = heapUsed() - before;
    return agents.every(({ history }) => history.length === 40) ? bytes : Number.NaN;
  },
  'what an output keeps of a long answer': async () => {
    const pieces = Array.from({ length: 4000 }, (_, n) => `so many words and more ${n} `);
    const model: Model = {
      complete: async (_request, { onToken }) => {
        for (const text of pieces) {
          onToken?.({ kind: 'text', text });
          await new Promise((resolve) => setImmediate(resolve));
        }
        return { content: pieces.join('') };
      },
    };
    const kept: string[] = [];
    const output = { streamToken: (text: string) => void kept.push(text) };
    const before = heapUsed();
    await createAgent({ model, output, streaming: true }).run('Talk').orThrow();
    const bytes = heapUsed() - before;
    return kept.join('').trim() === pieces.join('').trim() ? bytes : Number.NaN;
  },
  'a run of a typed answer that was followed': async () => {
    const list = Array.from({ length: 1500 }, (_, n) => ({ city: `City number ${n}` }));
    const call = { name: 'final_answer', arguments: JSON.stringify({ value: list }) };
    const model: Model = {
      complete: async (_request, { onToken }) => {
        for (const text of call.arguments.split(/(?<=[,:])/)) {
          onToken?.({ kind: 'arguments', text, tool: call.name, callIndex: 0 });
          await new Promise((resolve) => setImmediate(resolve));
        }
        return { content: '', toolCalls: [call] };
      },
    };
    const outputSchema = { type: 'array', items: { type: 'object', properties: { city: { type: 'string' } } } };
    const agent = createAgent({ model, outputSchema, streaming: true, silent: true });
    let partial = 0;
    const bytes = await held(2, async () => {
      const run = agent.run('Go');
      for await (const event of run) if (event.type === 'output.partial') partial += 1;
      await run.orThrow();
      return { run };
    });
    return partial > 400 ? bytes : Number.NaN;
  },
  'a conversation of an agent, after its run': async () => {
    const folder = mkdtempSync(join(tmpdir(), 'signalbox-idle-'));
    const agent = createAgent({ model: caller(1), tools: [add], silent: true, journal: fileJournal(folder) });
    const talk = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) =>
        agent
          .conversation(`user ${from + n}`)
          .run('Add')
          .orThrow(),
      );
    // The median of the later ones: those in which code is compiled seem to hold more.
    const grown: number[] = [];
    for (let from = 0; from < 800; from += 100) {
      const before = heapUsed();
      await Promise.all(talk(from, from + 100));
      grown.push((heapUsed() - before) / 100);
    }
    await agent.close();
    rmSync(folder, { recursive: true });
    return grown.slice(3).toSorted((a, b) => a - b)[2] ?? Number.NaN;
  },
  'a run of 10 turns that has ended, without a full collection': () => leftBehind(() => runOf(10)),
  'the same with a journal of its own': () => leftBehind(() => runOf(10, { journal: new OwnJournal() })),
  'a simulated run that was checked': () =>
    leftBehind(() =>
      simulate((options) => createAgent({ tools: [add], maxSteps: 11, ...options }), {
        seeds: [1],
        model: caller(10),
        faults: [],
        check: ({ result }) => result.success,
      }),
    ),
  'a process after many calls': async () => {
    const [turns = 0, warm = 0, rounds = 0] = process.argv.slice(3).map(Number);
    for (let round = 0; round < warm; round += 1) await manyCalls(turns);
    // What stays for good grows in both halves; code that is compiled late is in one.
    const halves: number[] = [];
    while (halves.length < 2) {
      const before = heapUsed();
      for (let round = 0; round < rounds / 2; round += 1) await manyCalls(turns);
      halves.push(heapUsed() - before);
    }
    return 2 * Math.min(...halves);
  },
};

for (const [name, measure] of Object.entries(figures)) {
  if (name !== process.argv[2]) continue;
  console.log(JSON.stringify(await measure()));
  // A run that waits for its model would keep the process.
  setImmediate(() => process.exit());
}
