import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Model } from '../../src/actors/model.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { createToolRegistry } from '../../src/agent/tools/registry.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { OnError } from '../../src/recovery/steps.ts';
import { pause } from '../../src/security/folders.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls } from '../support/replies.ts';
import { testFolder } from '../support/test-folder.ts';

function forever(): Promise<never> {
  return new Promise<never>(() => undefined);
}

/** From here on time passes only in {@link over}. */
function stillTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets time pass until the run is over. */
async function over<T>(run: PromiseLike<T>): Promise<T> {
  const ended = vi.fn<() => void>();
  void run.then(() => ended());
  while (ended.mock.calls.length === 0) {
    await vi.advanceTimersByTimeAsync(1000);
    await nextTurn();
  }
  return run;
}

/** A tool whose own check never settles, and the signals that the check was given. */
function slowToCheck(more: { readonly timeoutMs?: number } = {}) {
  const signals: AbortSignal[] = [];
  const ran: unknown[] = [];
  const refund = tool({
    name: 'refund',
    description: 'Refunds an order.',
    policy: 'confirm',
    validateArgs: (_args, { signal }) => {
      signals.push(signal);
      return forever();
    },
    execute: (args) => void ran.push(args),
    ...more,
  });
  return { refund, signals, ran };
}

test.each([
  ['the time limit of tools', {}, { toolMs: 30 }, 30],
  ['the time limit of its tool', { timeoutMs: 20 }, {}, 20],
])('a check of arguments that never settles rejects them after %s', async (_which, more, timeouts, ms) => {
  const { refund, signals, ran } = slowToCheck(more);
  const asked: unknown[] = [];
  const agent = createAgent({
    model: scriptedModel([calls(['refund', { order: 'A-1' }]), 'I could not.']),
    tools: [refund],
    silent: true,
    timeouts,
    confirm: (request) => {
      asked.push(request);
      return 'allow-once';
    },
  });
  const run = agent.run('Refund A-1');
  const { status, errorHistory, toolsUsed } = await run;
  expect({ status, toolsUsed, asked, ran }).toEqual({ status: 'answered', toolsUsed: [], asked: [], ran: [] });
  expect(errorHistory).toMatchObject([{ code: 'deserialization', tool: 'refund' }]);
  expect(errorHistory[0]?.message).toContain(`did not finish within ${ms} ms`);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect((await replay(run.recording(), agent)).errorHistory).toEqual(errorHistory);
});

test('so does one of a registry without an agent', async () => {
  const { refund, ran } = slowToCheck();
  const tools = createToolRegistry({ timeouts: { toolMs: 20 }, confirm: () => 'allow-once' });
  tools.register(refund);
  expect(await tools.execute('refund', {})).toMatchObject({ status: 'error' });
  expect(ran).toEqual([]);
});

test.each<[string, AgentOptions]>([
  ['instructions', { instructions: forever }],
  ['systemPrompt', { instructions: () => 'Be brief.', systemPrompt: forever }],
])('%s that never settle end the run after the time limit of tools', async (_which, options) => {
  const model = scriptedModel(['never asked for']);
  const result = await createAgent({ model, silent: true, timeouts: { toolMs: 30 }, ...options }).run('Hello');
  expect(result).toMatchObject({ status: 'failed', reason: 'thrown', error: { code: 'timeout' } });
  expect(result.result).toMatch(/^Unable to complete task: The functions that make the prompt .* longer than 30 ms\.$/);
  expect(model.requests).toEqual([]);
});

test.each<[string, OnError, string]>([
  ['fix', { deserializationError: [recover.fix(forever), recover.sanitize(() => ({ n: 7 }))] }, 'n: 7'],
  ['sanitize', { deserializationError: [recover.sanitize(forever), recover.substitute(() => 'instead')] }, 'instead'],
  ['function of the slot', { deserializationError: forever }, 'expected an integer'],
])('a recovery whose %s never settles gives way to what comes next', async (_which, onError, told) => {
  stillTime();
  const read = tool({
    name: 'read',
    description: 'Reads.',
    inputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    onError,
    execute: ({ n }: { n?: unknown }) => `n: ${String(n)}`,
  });
  const model = scriptedModel([calls(['read', { n: 'many' }]), 'Done.']);
  const agent = createAgent({ model, tools: [read], silent: true });
  const run = agent.run('Read');
  const result = await over(run);
  expect(result.status).toBe('answered');
  expect(model.requests[1]?.messages.at(-1)?.content).toContain(told);
  expect(await replay(run.recording(), agent)).toMatchObject({ messages: result.messages });
});

test('onEscalation that never decides has not handled the escalation', async () => {
  stillTime();
  const onError = { executionError: recover.escalate('cannot be read', 'high') } as const;
  const read = fakeTool('read', [new Error('gone')], { onError });
  const model = scriptedModel([calls(['read']), 'I could not.']);
  let asked = 0;
  const onEscalation = (): Promise<never> => {
    asked += 1;
    return forever();
  };
  const result = await over(createAgent({ model, tools: [read], silent: true, onEscalation }).run('Read'));
  expect(result).toMatchObject({ status: 'answered', result: 'I could not.' });
  expect(result.errorHistory).toMatchObject([
    { code: 'escalation', message: 'read could not go on (high): cannot be read' },
    { code: 'escalation-handler', message: expect.stringContaining('onEscalation did not decide within') },
  ]);
  expect(asked).toBe(1);
});

test('a tool that looks at its signal late, after its time is over, finds it aborted', async () => {
  const { promise: late, resolve } = Promise.withResolvers<AbortSignal>();
  const ended = Promise.withResolvers<void>();
  const look = tool({
    name: 'look',
    description: 'Looks.',
    timeoutMs: 20,
    execute: async (_args, io) => {
      await ended.promise;
      resolve(io.signal);
    },
  });
  const model = scriptedModel([calls(['look']), 'Late.']);
  expect(await createAgent({ model, tools: [look], silent: true }).run('Look')).toMatchObject({ status: 'answered' });
  ended.resolve();
  expect(await late).toMatchObject({ aborted: true, reason: expect.any(Error) });
});

describe('a store of permissions that never answers', () => {
  function agentWith(permissions: NonNullable<AgentOptions['permissions']>) {
    stillTime();
    const asked: string[] = [];
    const warned: string[] = [];
    const agent = createAgent({
      model: scriptedModel([calls(['pay']), 'Paid.']),
      tools: [tool({ name: 'pay', description: 'Pays.', policy: 'confirm', execute: () => 'paid' })],
      silent: true,
      permissions,
      confirm: (request) => {
        asked.push(request.tool);
        return 'always-allow';
      },
      onEvent: (event) => void (event.type === 'warning' && warned.push(event.message)),
    });
    return { agent, asked, warned };
  }

  test('allows nothing: the run begins, and a person is asked', async () => {
    const { agent, asked } = agentWith({ isAlwaysAllowed: forever, add: () => undefined });
    expect((await over(agent.run('Pay'))).toolsUsed).toEqual(['pay']);
    expect(asked).toEqual(['pay']);
  });

  test('does not hold a run that is cancelled before it began', async () => {
    const { agent, asked } = agentWith({ isAlwaysAllowed: forever, add: () => undefined });
    const run = agent.run('Pay');
    await nextTurn();
    expect(await run.cancel('too slow')).toBe(true);
    expect((await run).status).toBe('cancelled');
    expect(asked).toEqual([]);
  });

  test('does not hold a run that is cancelled as soon as it is started', async () => {
    const { agent, asked } = agentWith({ isAlwaysAllowed: forever, add: () => undefined });
    const run = agent.run('Pay');
    expect(await run.cancel('too slow')).toBe(true);
    expect((await run).status).toBe('cancelled');
    expect(asked).toEqual([]);
  });

  test('keeps no decision: the call runs all the same, with a warning', async () => {
    const { agent, warned } = agentWith({ isAlwaysAllowed: () => false, add: forever });
    expect((await over(agent.run('Pay'))).toolsUsed).toEqual(['pay']);
    expect(warned).toEqual([expect.stringContaining('"Always allow" for \'pay\' could not be stored')]);
  });
});

describe('a process that was stopped until after a time limit takes what came meanwhile', () => {
  /** Holds this process up until the file is there and this time has passed. */
  function stopped(file: string, ms: number): void {
    const until = performance.now() + ms;
    while (!existsSync(file) || performance.now() < until) pause(5);
  }

  /** What a program says while this process stands still for longer than `ms`. */
  async function saidWhileStopped(ms: number): Promise<string> {
    const file = join(testFolder(), 'said');
    const says = `process.stdout.write('It rains.'); require('node:fs').writeFileSync(process.argv[1], '')`;
    // From here on, Node looks at its timers before it reads anything.
    await nextTurn();
    const { stdout } = spawn(process.execPath, ['-e', says, file]);
    stopped(file, 2 * ms);
    const [said] = await once(stdout, 'data');
    return String(said);
  }

  test('of a tool', async () => {
    const look = fakeTool('look', [() => saidWhileStopped(100)], { timeoutMs: 100 });
    const model = scriptedModel([calls(['look']), 'It does.']);
    const { messages, errorHistory } = await createAgent({ model, tools: [look], silent: true }).run('Look');
    expect({ errorHistory, told: messages.map(({ content }) => content) }).toEqual({
      errorHistory: [],
      told: expect.arrayContaining([expect.stringContaining('It rains.')]),
    });
  });

  test('of a model', async () => {
    const model: Model = {
      complete: async () => ({ content: await saidWhileStopped(100), toolCalls: [], finishReason: 'stop' }),
    };
    const agent = createAgent({ model, silent: true, timeouts: { responseMs: 100 } });
    expect(await agent.run('Look')).toMatchObject({ status: 'answered', result: 'It rains.' });
  });

  test('of an MCP server', async () => {
    const folder = testFolder();
    const [asked, mayAnswer, said] = [join(folder, 'asked'), join(folder, 'may-answer'), join(folder, 'said')];
    const program = `
      const { existsSync, writeFileSync } = require('node:fs');
      const [, ...files] = process.argv;
      const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
      const tools = [{ name: 'look', inputSchema: { type: 'object' } }];
      const serverInfo = { name: 's', version: '1' };
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        if (method === 'initialize') say(id, { protocolVersion: '2025-06-18', serverInfo, capabilities: { tools: {} } });
        else if (method === 'tools/list') say(id, { tools });
        else if (method === 'tools/call') {
          writeFileSync(files[0], '');
          while (!existsSync(files[1]));
          say(id, { content: [{ type: 'text', text: 'It rains.' }] });
          writeFileSync(files[2], '');
        }
      });`;
    const stop = fakeTool('stop', [
      async () => {
        while (!existsSync(asked)) await nextTurn();
        writeFileSync(mayAnswer, '');
        stopped(said, 1600);
        return 'stopped';
      },
    ]);
    const sky = { command: process.execPath, args: ['-e', program, asked, mayAnswer, said], timeoutMs: 1500 };
    const model = scriptedModel([calls(['sky_look'], ['stop']), 'It does.']);
    const agent = createAgent({ model, tools: [stop], mcpServers: { sky }, silent: true });
    onTestFinished(() => agent.close());
    const { messages, errorHistory } = await agent.run('Look');
    expect({ errorHistory, told: messages.map(({ content }) => content) }).toEqual({
      errorHistory: [],
      told: expect.arrayContaining([expect.stringContaining('It rains.')]),
    });
  });
});
