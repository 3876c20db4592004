// CPU of a model turn and time to the first reply, side by side in one run: the floor on node:http, the openai package
// as it comes, and chatModel with its own HTTP client and with the platform's. Run with: node bench/models.ts
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Message, ModelIo } from '../src/actors/model.ts';
import type { ChatModelOptions } from '../src/models/index.ts';

const TURNS = 400;
const WARM_UP = 200;
const STREAMED_TOKENS = 100;

interface Job {
  readonly baseURL: string;
  readonly messages: readonly Message[];
  readonly stream: boolean;
}

type Turn = () => Promise<unknown>;

const contestants: Readonly<Record<string, (job: Job) => Promise<Turn>>> = {
  'node:http by hand': ({ baseURL, messages, stream }) => {
    const agent = new Agent({ keepAlive: true });
    return Promise.resolve(() =>
      postByHand(`${baseURL}/chat/completions`, JSON.stringify({ model: 'm', messages, stream }), agent),
    );
  },
  'openai as it comes': async ({ baseURL, messages, stream }) => {
    const { OpenAI } = await import('openai');
    const client = new OpenAI({ baseURL, apiKey: 'k', maxRetries: 0 });
    const sent = messages.map(() => ({ role: 'user' as const, content: 'x'.repeat(300) }));
    if (!stream) return () => client.chat.completions.create({ model: 'm', messages: sent });
    return async () => {
      const chunks = await client.chat.completions.create({ model: 'm', messages: sent, stream: true });
      let text = '';
      for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? '';
      return text;
    };
  },
  chatModel: (job) => ours(job, {}),
  'chatModel, direct': (job) => ours(job, { transport: 'direct' }),
  'chatModel, platform fetch': (job) => ours(job, { fetch: globalThis.fetch }),
};

async function ours({ baseURL, messages, stream }: Job, sending: ChatModelOptions): Promise<Turn> {
  const { chatModel } = await import('../src/models/index.ts');
  const model = chatModel({ baseURL, model: 'm', ...sending });
  const io: ModelIo = { signal: new AbortController().signal, ...(stream ? { onToken: () => undefined } : {}) };
  // As an agent's: what cannot change is written once.
  for (const message of messages) Object.freeze(message);
  return () => model.complete({ messages: Object.freeze([...messages]), toolCalling: 'native', stream }, io);
}

function postByHand(url: string, body: string, agent: Agent): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.on('end', () => {
        const payloads = text.startsWith('data:')
          ? text.split('\n').filter((line) => line.startsWith('data: {'))
          : [`data: ${text}`];
        resolve(payloads.map((line): unknown => JSON.parse(line.slice(6))));
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

function serve(): void {
  const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Austin"}' } };
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const whole = JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage });
  const chunk = (content: string, finish_reason: string | null) =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason }] })}\n\n`;
  const events = [
    ...Array.from({ length: STREAMED_TOKENS }, () => chunk('token ', null)),
    chunk('', 'stop'),
    'data: [DONE]\n\n',
  ];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const isStream = /"stream":\s*true/.test(text);
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      if (isStream) for (const event of events) response.write(event);
      response.end(isStream ? undefined : whole);
    });
  });
  server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
}

async function measure(name: string, job: Job): Promise<void> {
  const begun = performance.now();
  const turn = await contestants[name]?.(job);
  if (turn === undefined) throw new Error(`no contestant '${name}'`);
  await turn();
  const firstMs = performance.now() - begun;
  for (let at = 0; at < WARM_UP; at += 1) await turn();
  const before = process.cpuUsage();
  for (let at = 0; at < TURNS; at += 1) await turn();
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ firstMs, turnMs: (user + system) / 1000 / TURNS }));
}

async function compare(): Promise<void> {
  const server = spawn(process.execPath, [self, 'serve'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line]: readonly unknown[] = await once(server.stdout, 'data');
  const { port }: { port: number } = JSON.parse(String(line));
  const baseURL = `http://127.0.0.1:${String(port)}/v1`;
  for (const [title, history, kind] of [
    ['2 messages, plain reply', '2', 'whole'],
    ['200 messages, plain reply', '200', 'whole'],
    [`2 messages, ${String(STREAMED_TOKENS)} streamed tokens`, '2', 'stream'],
  ] as const) {
    console.log(`\n${title.padEnd(36)} first reply   CPU a turn`);
    for (const name of Object.keys(contestants)) {
      const runs = [1, 2, 3].map(() => run([name, baseURL, history, kind]));
      const firstMs = Math.min(...runs.map((one) => one.firstMs));
      const turnMs = Math.min(...runs.map((one) => one.turnMs));
      console.log(`${name.padEnd(34)} ${firstMs.toFixed(0).padStart(9)} ms ${turnMs.toFixed(3).padStart(9)} ms`);
    }
  }
  server.kill();
}

function run(args: readonly string[]): { firstMs: number; turnMs: number } {
  const figures: { firstMs: number; turnMs: number } = JSON.parse(
    execFileSync(process.execPath, [self, ...args], { encoding: 'utf8' }),
  );
  return figures;
}

const self = fileURLToPath(import.meta.url);
const [role, baseURL = '', history = '0', kind = 'whole'] = process.argv.slice(2);
if (role === undefined) await compare();
else if (role === 'serve') serve();
else {
  const messages = Array.from({ length: Number(history) }, (): Message => ({ role: 'user', content: 'x'.repeat(300) }));
  await measure(role, { baseURL, messages, stream: kind === 'stream' });
}
