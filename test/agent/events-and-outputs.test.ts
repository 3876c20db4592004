import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { Run } from '../../src/agent/run/run.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, envelope, plan } from '../support/replies.ts';
import { eventsOf } from './agent-on-server.ts';

function make(replies: readonly ScriptedReply[], options: AgentOptions = {}) {
  const tools = [fakeTool('look', [{ tea: 3 }]), fakeTool('broken', [new Error('offline')])];
  return createAgent({ name: 'clerk', model: scriptedModel(replies), tools, silent: true, ...options });
}

const typesOf = (events: readonly RunEvent[]) => events.map(({ type }) => type);

/** What the second reply said so far, at each of its tokens. */
const textsOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'model.token' && event.kind === 'text' ? [event.answer] : []));

/** A run whose model thinks, calls a tool and then answers, in so many pieces each. */
function talking(count: number): { readonly run: Run; readonly whole: string } {
  const pieces = Array.from({ length: count }, (_, n) => `word ${n} `);
  const whole = pieces.join('');
  const model: Model = {
    complete: async ({ messages }, { onToken }) => {
      const thinks = messages.length === 2;
      for (const text of pieces) onToken?.({ kind: thinks ? 'reasoning' : 'text', text });
      await new Promise((resolve) => void setTimeout(resolve, 1));
      return thinks ? { content: 'Soon.', toolCalls: [{ name: 'look', arguments: {} }] } : { content: whole };
    },
  };
  const agent = createAgent({ model, tools: [fakeTool('look', [1])], streaming: true, silent: true });
  return { run: agent.run('Go'), whole };
}

/** How many characters of texts so far these events hold, each text once. */
function heldBy(events: readonly RunEvent[]): number {
  const texts = events.flatMap((event) => (event.type === 'model.token' ? [event.thought, event.answer] : []));
  return [...new Set(texts)].join('').length;
}

describe('the events of a run', () => {
  test('tell a turn with a call from its beginning to its end', async () => {
    const agent = make(
      [envelope({ thought: 'I look.', goal: 'tea', tool: 'look', tool_args: { n: 1 } }), envelope({ answer: 'Tea.' })],
      {
        toolCalling: 'json',
      },
    );
    const run = agent.run('Go', { maxSteps: 7 });
    const events = await eventsOf(run);
    expect(typesOf(events)).toEqual([
      'run.started',
      'step.started',
      'model.replied',
      'thought',
      'goal',
      'state.changed',
      'tool.started',
      'tool.finished',
      'state.changed',
      'step.started',
      'model.replied',
      'state.changed',
      'answer',
      'run.finished',
    ]);
    expect(events[0]).toMatchObject({ runId: run.runId, agent: 'clerk', task: 'Go', maxSteps: 7 });
    expect(events[1]).toMatchObject({ step: 1, limit: 7, kind: 'model' });
    expect(events[2]).toMatchObject({ strategy: 'direct', attempts: 1 });
    expect(events[3]).toMatchObject({ text: 'I look.' });
    expect(events[4]).toMatchObject({ text: 'tea' });
    expect(events[5]).toMatchObject({ from: 'PLANNING', to: 'DIRECT_EXECUTION' });
    expect(events[7]).toMatchObject({
      tool: 'look',
      args: { n: 1 },
      result: { status: 'success', data: { tea: 3 } },
      ok: true,
      durationMs: expect.any(Number),
    });
    expect(events[7]).toHaveProperty('callId', Reflect.get(Object(events[6]), 'callId'));
    expect(events.at(-1)).toMatchObject({ result: await run });
  });

  test('tell a plan and its steps', async () => {
    const events = await eventsOf(make([plan(['look', { n: 1 }], ['look', { n: 2 }]), 'Tea.']).run('Go'));
    const made = events.find(({ type }) => type === 'plan.made');
    expect(made).toMatchObject({
      iteration: 1,
      steps: [
        { tool: 'look', args: { n: 1 } },
        { tool: 'look', args: { n: 2 } },
      ],
    });
    const steps = events.flatMap((event) => (event.type === 'step.started' ? [event.kind] : []));
    expect(steps).toEqual(['model', 'plan', 'plan', 'model']);
  });

  test('tell a state for each change, those that lead to ERROR_RECOVERY too', async () => {
    const run = make([calls(['broken']), 'Sorry.']).run('Go');
    const visited = (await eventsOf(run)).flatMap((event) => (event.type === 'state.changed' ? [event.to] : []));
    expect(['PLANNING', ...visited]).toEqual((await run).states);
    expect(visited).toEqual(['DIRECT_EXECUTION', 'ERROR_RECOVERY', 'PLANNING', 'COMPLETION']);
  });

  test('tell a failed tool as not ok, and its error', async () => {
    const events = await eventsOf(make([calls(['broken']), 'Sorry.']).run('Go'));
    expect(events.find(({ type }) => type === 'tool.finished')).toMatchObject({
      ok: false,
      result: { status: 'error' },
    });
  });

  test('log lines name a done event by what it was', async () => {
    const run = make([calls(['broken']), 'Sorry.']).run('Go');
    await run;
    const lines = run.transitions().map(({ event, from, to }) => `${event}: ${from} → ${to}`);
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^tool\.failed: DIRECT_EXECUTION.* → ERROR_RECOVERY/),
        expect.stringMatching(/^model\.replied: PLANNING\.ASKING → PLANNING\.DECIDING$/),
      ]),
    );
  });

  test('10 000 are kept for late readers; when there are more, tokens go first', async () => {
    const story = Array.from({ length: 15_000 }, (_, n) => `w${n}`).join(' ');
    const heard: RunEvent[] = [];
    const agent = make([{ content: story, toolCalls: [{ name: 'look' }] }, 'Tea.'], {
      streaming: true,
      onEvent: (event) => void heard.push(event),
    });
    const run = agent.run('Go');
    await run;
    const late = await eventsOf(run);
    expect(heard.length).toBeGreaterThan(15_000);
    expect(late.length).toBe(10_000);
    const told = (events: readonly RunEvent[]) => events.filter(({ type }) => type !== 'model.token');
    expect(told(late)).toEqual(told(heard));
  });

  test('a reply of many pieces is not kept once for each of them', async () => {
    const { run, whole } = talking(600);
    const slow: RunEvent[] = [];
    const early = eventsOf(run);
    // Whoever has left holds nothing.
    for await (const event of run) if (event.type === 'run.started') break;
    for await (const event of run) {
      slow.push(event);
      if (slow.length % 500 === 0) await new Promise((resolve) => void setTimeout(resolve, 1));
    }
    // Whoever reads along, and be it slowly, gets each token as it was.
    expect(isDeepStrictEqual(slow, await early)).toBe(true);
    expect(new Set(textsOf(slow).map(({ length }) => length)).size).toBe(600);
    expect(textsOf(slow).every((text) => whole.startsWith(text))).toBe(true);

    const late = await eventsOf(run);
    const bare = (events: readonly RunEvent[]) => events.map((event) => ({ ...event, thought: '', answer: '' }));
    expect(bare(late)).toEqual(bare(slow));
    expect(textsOf(late).at(-1)?.length).toBe(textsOf(slow).at(-1)?.length);
    expect(heldBy(late)).toBeLessThan(600_000);
    // The tokens of one reply have no text of another.
    const first = late.find((event) => event.type === 'model.token');
    expect(first?.answer).toBe('');
    expect(first?.thought.trim() === whole.trim()).toBe(true);
  });

  test('nor where a reader has stopped reading, or is gone without a word', async () => {
    const { run, whole } = talking(3000);
    const stalled = run[Symbol.asyncIterator]();
    await stalled.next();
    await eventsOf(run);
    expect(heldBy(await eventsOf(run))).toBeLessThan(5_000_000);
    // It has missed no event, and each of a reply's tokens continues the one before.
    const rest: RunEvent[] = [];
    for (let next = await stalled.next(); next.done !== true; next = await stalled.next()) rest.push(next.value);
    expect(typesOf(rest)).toEqual(typesOf(await eventsOf(run)).slice(1));
    const texts = textsOf(rest);
    expect(texts.every((text, n) => text.startsWith(texts[n - 1] ?? ''))).toBe(true);
    expect(texts.at(-1)?.trim() === whole.trim()).toBe(true);
  });

  test('a typed answer of many pieces is not kept once for each of them, either', async () => {
    const cities = Array.from({ length: 1500 }, (_, n) => ({ city: `City number ${n}` }));
    const pieces = JSON.stringify(cities).split(/(?<=[,:])/);
    const model: Model = {
      complete: async (_request, { onToken }) => {
        for (const text of pieces) {
          onToken?.({ kind: 'text', text });
          await new Promise((resolve) => void setImmediate(resolve));
        }
        return { content: pieces.join('') };
      },
    };
    const outputSchema = { type: 'array', items: { type: 'object', properties: { city: { type: 'string' } } } };
    const run = createAgent({ model, outputSchema, streaming: true, silent: true }).run('Go');
    const along: RunEvent[] = [];
    for await (const event of run) along.push(event);
    const late = await eventsOf(run);
    expect(typesOf(late)).toEqual(typesOf(along));
    const outputsOf = (events: readonly RunEvent[]) =>
      events.flatMap((event) => (event.type === 'output.partial' ? [event.output] : []));
    const heldOf = (events: readonly RunEvent[]) =>
      [...new Set(outputsOf(events))].reduce<number>((sum, output) => sum + JSON.stringify(output).length, 0);
    // Whoever reads along gets each as it was, and whoever comes late the newest of all.
    const lengths = outputsOf(along).map((output) => JSON.stringify(output).length);
    expect(lengths.length).toBeGreaterThan(200);
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    expect(new Set(lengths).size).toBe(lengths.length);
    expect(heldOf(along)).toBeGreaterThan(2_000_000);
    expect(outputsOf(late).at(-1)).toEqual(cities);
    expect(outputsOf(late).every((output) => Array.isArray(output))).toBe(true);
    expect(heldOf(late)).toBeLessThan(600_000);
    const elements = late.flatMap((event) => (event.type === 'output.element' ? [event.element] : []));
    expect(elements).toEqual(cities);
  });

  test('have no thought that is white space, which models write beside calls', async () => {
    const agent = make([
      { content: '\n\n', toolCalls: [{ name: 'look' }] },
      { content: '', reasoning: ' \n', toolCalls: [{ name: 'look' }] },
      { content: ' I look. ', toolCalls: [{ name: 'look' }] },
      'Tea.',
    ]);
    const events = await eventsOf(agent.run('Go'));
    expect(events.flatMap((event) => (event.type === 'thought' ? [event.text] : []))).toEqual([' I look. ']);
  });

  test('all reach onEvent, in order, of every run of the agent', async () => {
    const heard: RunEvent[] = [];
    const agent = make(['One.', 'Two.'], { onEvent: (event) => void heard.push(event) });
    const first = await eventsOf(agent.run('Go'));
    const second = await eventsOf(agent.run('Go'));
    expect(heard).toEqual([...first, ...second]);
  });
});

describe('an output', () => {
  test('hears of the run through the methods that it has', async () => {
    const heard: unknown[][] = [];
    const note =
      (name: string) =>
      (...args: readonly unknown[]) =>
        void heard.push([name, ...args]);
    const names = [
      'processingStart',
      'stepHeader',
      'thought',
      'plan',
      'toolUsage',
      'toolComplete',
      'finalAnswer',
      'completion',
    ] as const;
    const output = Object.fromEntries(names.map((name) => [name, note(name)]));
    await make([plan(['look']), envelope({ thought: 'enough', answer: 'Tea.' })], { output, maxSteps: 9 }).run('Go');
    expect(heard.map(([name]) => name)).toEqual(expect.arrayContaining([...names]));
    expect(heard[0]).toEqual(['processingStart', 'Go', 9, 'scripted']);
    expect(heard.find(([name]) => name === 'toolUsage')).toEqual(['toolUsage', 'look']);
    expect(heard.find(([name]) => name === 'finalAnswer')).toEqual(['finalAnswer', 'Tea.']);
    expect(heard.at(-1)).toEqual(['completion', 3, 9]);
  });

  test('that throws or rejects in every method breaks nothing', async () => {
    const output = new Proxy(
      {},
      {
        get: (_target, name) =>
          name === 'wants'
            ? undefined
            : () => {
                throw new Error('broken pipe');
              },
        has: () => true,
      },
    );
    expect(await make([calls(['look']), 'Tea.'], { output }).run('Go')).toMatchObject({ status: 'answered' });
  });
});

/** The next warning of this process, which is not printed: it is meant. */
function nextWarning(): Promise<unknown> {
  const printers = process.listeners('warning');
  process.removeAllListeners('warning');
  onTestFinished(() => printers.forEach((printer) => process.on('warning', printer)));
  return once(process, 'warning');
}

describe('a trace', () => {
  test('holds what the recording holds, the result and its time, in outputDir or at a path', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-trace-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const agent = make(['One.', 'Two.', 'Three.'], { trace: true, outputDir: folder });
    const run = agent.run('Go', { metadata: { ticket: 5 } });
    const result = await run;
    await agent.run('Go', { trace: join(folder, 'own.json') });
    await agent.run('Go', { trace: false });
    expect((await readdir(folder)).toSorted()).toEqual([`clerk-${run.runId}.trace.json`, 'own.json'].toSorted());
    const trace: unknown = JSON.parse(await readFile(join(folder, `clerk-${run.runId}.trace.json`), 'utf8'));
    expect(trace).toMatchObject({ runId: run.runId, result: { result: 'One.', durationMs: result.durationMs } });
    expect(JSON.stringify(trace)).toContain('"ticket":5');
  });

  test.each([
    ['../../clerk', '..-..-clerk'],
    ['shop/clerk', 'shop-clerk'],
    [String.raw`C:\shop\clerk`, 'C-shop-clerk'],
    ['Clerk no. 2 (günstig)', 'Clerk no. 2 (günstig)'],
  ])('stands in outputDir whatever the agent is called: %s', async (name, written) => {
    const parent = await mkdtemp(join(tmpdir(), 'agent-trace-'));
    onTestFinished(() => rm(parent, { recursive: true, force: true }));
    const run = make(['One.'], { name, trace: true, outputDir: join(parent, 'in', 'out') }).run('Go');
    const { runId } = await run;
    const files = await readdir(parent, { recursive: true });
    expect(files.toSorted()).toEqual(['in', join('in', 'out'), join('in', 'out', `${written}-${runId}.trace.json`)]);
  });

  test('that cannot be written is no failure of the run', async () => {
    const warned = nextWarning();
    // A file stands where the trace's folder would have to be.
    const trace = join(import.meta.filename, 'trace.json');
    expect(await make(['One.']).run('Go', { trace })).toMatchObject({ status: 'answered' });
    expect(String(await warned)).toContain(trace);
  });
});

describe('agents', () => {
  test('are independent: many run at once, each with its own conversation', async () => {
    const agents = Array.from({ length: 20 }, (_, n) => make([calls(['look', { n }]), `Answer ${n}`]));
    const results = await Promise.all(agents.map((agent) => agent.run('Go')));
    expect(results.map(({ result }) => result)).toEqual(agents.map((_, n) => `Answer ${n}`));
    expect(new Set(results.map(({ runId }) => runId)).size).toBe(20);
    expect(agents.every(({ history }) => history.length === 4)).toBe(true);
  });

  test('run in worker threads', async () => {
    const worker = new Worker(new URL('children/in-worker.ts', import.meta.url));
    const [[message], [code]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
    expect(message).toEqual({ result: 'Tea.', toolsUsed: ['look'] });
    expect(code).toBe(0);
  });

  test('take the id of a run from outside, and metadata into the first line of the recording', async () => {
    const run = make(['One.']).run('Go', { runId: 'order-7', metadata: { ticket: 5, tags: ['a'] } });
    expect(run.runId).toBe('order-7');
    expect(await run).toMatchObject({ runId: 'order-7' });
    const [head = ''] = run.recording().split('\n');
    expect(JSON.parse(head)).toMatchObject({ t: 'run', runId: 'order-7', metadata: { ticket: 5, tags: ['a'] } });
  });
});
