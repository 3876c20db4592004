import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import { chatModel } from '../../src/models/chat/chat-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { freePort } from '../support/free-port.ts';
import { cases } from '../support/soak.ts';
import { IN_TURNS, type Saying, tinyModel } from '../support/tiny-model.ts';

/** llama.cpp's own server, with models that say one of a few things; only where `llama-server` is installed. */
const COMMAND = process.env['LLAMA_SERVER'] ?? 'llama-server';
const RUNS = cases(3, 100);

const SAYINGS: readonly Saying[] = [
  [12, 'It is ', 'sunny', ', 31 °C ☀️.'],
  [12.5, '<tool_call>', '\n{"name": ', '"get_weather"', ', "arguments": ', '{"city": "Aus', 'tin"}}\n', '</tool_call>'],
];

interface Served {
  readonly baseURL: string;
  readonly server: ChildProcess;
}

/** Starts a server, without waiting until it has loaded its model. */
async function serve(model: Buffer, more: readonly string[] = []): Promise<Served> {
  const [port, folder] = [await freePort(), mkdtempSync(join(tmpdir(), 'signalbox-llama-'))];
  const file = join(folder, 'tiny.gguf');
  writeFileSync(file, model);
  const args = ['-m', file, '--host', '127.0.0.1', '--port', `${port}`, '-c', '16384', '--jinja', '--slots', ...more];
  const server = spawn(COMMAND, args, { stdio: 'ignore' });
  server.once('exit', () => rmSync(folder, { recursive: true }));
  const baseURL = `http://127.0.0.1:${port}/v1`;
  while ((await fetch(`${baseURL}/models`).catch(() => null)) === null)
    await new Promise((resolve) => setTimeout(resolve, 20));
  return { baseURL, server };
}

async function stop({ server }: Served): Promise<void> {
  server.kill('SIGKILL');
  await once(server, 'exit');
}

const weather = (execute: () => unknown) =>
  tool({
    name: 'get_weather',
    description: 'Weather',
    inputSchema: z.object({ city: z.string() }),
    effects: 'none',
    execute,
  });

function isInstalled(): boolean {
  try {
    execFileSync(COMMAND, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe.runIf(isInstalled())('with llama-server', () => {
  let any: Served;
  let turns: Served;
  beforeAll(async () => {
    [any, turns] = await Promise.all([serve(tinyModel(SAYINGS)), serve(tinyModel(SAYINGS, IN_TURNS))]);
  });
  afterAll(() => Promise.all([any, turns].map(stop)));

  test.each(['openai', 'direct'] as const)(
    'calls and answers arrive whole, streamed or not (%s)',
    async (transport) => {
      const model = chatModel({ baseURL: any.baseURL, model: 'tiny', transport });
      const ends: string[] = [];
      for (let count = 0; count < RUNS; count++) {
        const agent = createAgent({
          model,
          tools: [weather(() => 'sunny')],
          streaming: count % 2 === 0,
          silent: true,
          plans: false,
          maxSteps: 6,
          maxTokens: 100,
        });
        const run = agent.run('Weather in Austin?');
        let heard = '';
        for await (const event of run) if (event.type === 'model.token' && event.kind === 'text') heard += event.text;
        const { status, reason, result, errorHistory, usage } = await run;
        expect(errorHistory).toEqual([]);
        expect(usage.outputTokens).toBeGreaterThan(0);
        if (status === 'answered') expect(result).toBe('It is sunny, 31 °C ☀️.');
        if (status === 'answered' && count % 2 === 0) expect(heard.endsWith(result)).toBe(true);
        ends.push(reason);
      }
      expect(ends).not.toContain('llm-error');
    },
  );

  test('a schema that it cannot use is left out, and the others are kept to', async () => {
    const sent: boolean[] = [];
    const own = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      if (init?.method === 'POST') sent.push(String(init.body).includes('response_format'));
      return fetch(input, init);
    };
    const model = chatModel({ baseURL: any.baseURL, model: 'tiny', fetch: own });
    const ask = (outputSchema: z.ZodType) =>
      createAgent({ model, outputSchema, silent: true, plans: false, maxSteps: 1, maxTokens: 60 }).run('Weather?');
    await ask(z.object({ range: z.tuple([z.int(), z.int()]) }));
    for (let count = 0; count < RUNS; count++)
      expect(await ask(z.object({ isSunny: z.boolean() }))).toMatchObject({ status: 'answered' });
    expect(sent).toEqual([true, false, ...Array<boolean>(RUNS).fill(true)]);
  });

  test('tools keep being native whose schemas have members of any kind, itself or what is not there', async () => {
    const odd = { any: true, parts: { type: 'array', items: { $ref: '#' } }, far: { $ref: 'https://example.com/a' } };
    const more = tool({
      name: 'more',
      description: 'More',
      inputSchema: { type: 'object', properties: odd },
      execute: () => '',
    });
    const asked: unknown[] = [];
    const own = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const answer = await fetch(input, init);
      if (init?.method === 'POST') asked.push([answer.status, String(init.body).includes('"tools"')]);
      return answer;
    };
    const model = chatModel({ baseURL: any.baseURL, model: 'tiny', fetch: own });
    await createAgent({ model, tools: [more], silent: true, plans: false, maxSteps: 1, maxTokens: 60 }).run('More?');
    expect(asked).toEqual([[200, true]]);
  });

  test('a failed tool does not end a conversation that must go in turns', async () => {
    const model = chatModel({ baseURL: turns.baseURL, model: 'tiny' });
    let calls = 0;
    const failing = weather(() => {
      if (calls++ % 2 === 0) throw new Error('offline');
      return 'sunny';
    });
    const errors: string[] = [];
    for (let count = 0; count < RUNS * 2; count++) {
      const agent = createAgent({ model, tools: [failing], silent: true, plans: false, maxSteps: 4, maxTokens: 100 });
      const { error, errorHistory } = await agent.run('Weather?');
      errors.push(...errorHistory.map(({ code }) => code), ...(error?.code === undefined ? [] : [error.code]));
    }
    expect(calls).toBeGreaterThan(0);
    expect(errors.filter((code) => !['execution', 'max-steps', 'loop'].includes(code))).toEqual([]);
  });

  test('a model that is still being loaded is waited for, and a cancelled reply is not generated to its end', async () => {
    const served = await serve(
      tinyModel([
        [20, 'word ', 'and ', 'word '],
        [20, 'and '],
      ]),
    );
    try {
      const model = chatModel({ baseURL: served.baseURL, model: 'tiny' });
      const answer = await createAgent({ model, silent: true, maxTokens: 5 }).run('Go');
      expect(['answered', 'stopped']).toContain(answer.status);
      const run = createAgent({ model, silent: true, streaming: true }).run('Go on');
      for await (const event of run) if (event.type === 'model.token') break;
      await run.cancel();
      const slots = (): Promise<string> => fetch(new URL('/slots', served.baseURL)).then((response) => response.text());
      await expect.poll(slots).not.toContain('"is_processing":true');
    } finally {
      await stop(served);
    }
  });
});
