// CPU of a model turn and time to the first request, side by side in one run: the floor on node:http, the openai
// package as it comes, and our chatModel. Run with: node bench/models.ts
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Message } from '../src/actors/model.ts';

const TURNS = 400;
const self = fileURLToPath(import.meta.url);
const [role, target = '', historyText = '0'] = process.argv.slice(2);

const COMPLETION = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Austin"}' } },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

type Turn = (messages: readonly Message[]) => Promise<unknown>;

const contestants: Readonly<Record<string, (baseURL: string) => Promise<Turn>>> = {
  'node:http': async (baseURL) => {
    const { Agent } = await import('node:http');
    const agent = new Agent({ keepAlive: true });
    return (messages) => postByHand(`${baseURL}/chat/completions`, JSON.stringify({ model: 'm', messages }), agent);
  },
  openai: async (baseURL) => {
    const { OpenAI } = await import('openai');
    const client = new OpenAI({ baseURL, apiKey: 'k', maxRetries: 0 });
    return (messages) =>
      client.chat.completions.create({
        model: 'm',
        messages: messages.map(() => ({ role: 'user', content: 'x'.repeat(300) })),
      });
  },
  chatModel: async (baseURL) => {
    const { chatModel } = await import('../src/models/index.ts');
    const model = chatModel({ baseURL, model: 'm' });
    const io = { signal: new AbortController().signal };
    return (messages) => model.complete({ messages, toolCalling: 'native', stream: false }, io);
  },
  'chatModel, platform fetch': async (baseURL) => {
    const { chatModel } = await import('../src/models/index.ts');
    const model = chatModel({ baseURL, model: 'm', fetch: globalThis.fetch });
    const io = { signal: new AbortController().signal };
    return (messages) => model.complete({ messages, toolCalling: 'native', stream: false }, io);
  },
};

if (role === 'serve') serve();
else if (role === undefined) await compare();
else await measure(role);

function serve(): void {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(COMPLETION);
    });
  });
  server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
}

async function measure(name: string): Promise<void> {
  const begun = performance.now();
  const make = contestants[name];
  if (make === undefined) throw new Error(`no contestant '${name}'`);
  const turn = await make(target);
  const messages: Message[] = Array.from({ length: Number(historyText) }, () => ({
    role: 'user',
    content: 'x'.repeat(300),
  }));
  messages.push({ role: 'user', content: 'hello' });
  await turn(messages);
  const firstMs = performance.now() - begun;
  for (let at = 0; at < 200; at += 1) await turn(messages);
  const before = process.cpuUsage();
  for (let at = 0; at < TURNS; at += 1) await turn(messages);
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ firstMs, turnMs: (user + system) / 1000 / TURNS }));
}

async function compare(): Promise<void> {
  const server = spawn(process.execPath, [self, 'serve'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line]: readonly unknown[] = await once(server.stdout, 'data');
  const { port }: { port: number } = JSON.parse(String(line));
  const baseURL = `http://127.0.0.1:${String(port)}/v1`;
  for (const history of ['2', '200']) {
    console.log(`\n${history} messages of history      first request   CPU a turn`);
    for (const name of Object.keys(contestants)) {
      const runs = [1, 2, 3].map(() => run(name, baseURL, history));
      const firstMs = Math.min(...runs.map((one) => one.firstMs));
      const turnMs = Math.min(...runs.map((one) => one.turnMs));
      console.log(`${name.padEnd(28)} ${firstMs.toFixed(0).padStart(10)} ms ${turnMs.toFixed(3).padStart(12)} ms`);
    }
  }
  server.kill();
}

function run(name: string, baseURL: string, history: string): { firstMs: number; turnMs: number } {
  const figures: { firstMs: number; turnMs: number } = JSON.parse(
    execFileSync(process.execPath, [self, name, baseURL, history], { encoding: 'utf8' }),
  );
  return figures;
}

function postByHand(url: string, body: string, agent: import('node:http').Agent): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      {
        method: 'POST',
        agent,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve(JSON.parse(text)));
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
