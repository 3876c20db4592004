/**
 * An MCP server that misbehaves on demand, written by hand so that it can do what no library lets it do. The first
 * argument says how it starts, the called tool what it does then.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type JsonObject, isJsonObject } from '../../../src/json/json.ts';

const [mode = 'normal'] = process.argv.slice(2);
const hints = {
  read: { readOnlyHint: true },
  put: { idempotentHint: true, destructiveHint: true },
  pay: { destructiveHint: true },
  act: undefined,
};
const names = [
  'echo',
  'die',
  'orphan',
  'hang',
  'freeze',
  'noise',
  'batch',
  'giant',
  'flood',
  'double',
  'env',
  'grow',
  'progress',
  'pids',
  'pid',
  'blank',
  'deaf',
  'nap',
  'chatty',
  'beside',
  'odd-code',
];
const extra: string[] = [];
let cancelled = 0;
let asked = 0;
let onAnswer = (): void => undefined;

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function tools(): readonly object[] {
  const plain = [...names, ...extra].map((name) => ({ name, inputSchema: { type: 'object' } }));
  const dying = Object.entries(hints).map(([name, annotations]) => ({
    name,
    inputSchema: { type: 'object' },
    annotations,
  }));
  return [...plain, ...dying, { name: 'cancelled', inputSchema: { type: 'object' } }];
}

function list(params: JsonObject): object {
  if (mode === 'pages') {
    const from = Number(params.cursor ?? 0);
    const page = Array.from({ length: 100 }, (_, at) => ({
      name: `tool_${from + at}`,
      inputSchema: { type: 'object' },
    }));
    return { tools: page.slice(0, 250 - from), ...(from < 200 ? { nextCursor: String(from + 100) } : {}) };
  }
  if (mode === 'many-tools')
    return {
      tools: Array.from({ length: 1200 }, (_, at) => ({ name: `tool_${at}`, inputSchema: { type: 'object' } })),
    };
  if (mode === 'endless-pages') return { tools: tools(), nextCursor: 'again' };
  if (mode === 'bad-tools') {
    return {
      tools: [
        { name: 'good', inputSchema: { type: 'object' } },
        { name: 7 },
        null,
        { name: 'good' },
        { name: 'odd', inputSchema: 'text' },
      ],
    };
  }
  return { tools: tools() };
}

function starts(path: string): number {
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean).length : 0;
}

function call(id: number, name: string, args: JsonObject, token: unknown): void {
  const answer = (text: string): void => write({ id, result: { content: [{ type: 'text', text }] } });
  const log = typeof args.log === 'string' ? args.log : '';
  switch (name) {
    case 'read':
    case 'put':
    case 'pay':
    case 'act':
      // Dies in the middle of the first call that a log file tells of, and works from then on.
      appendFileSync(log, `${name}\n`);
      if (starts(log) <= Number(args.deaths ?? 1)) process.exit(7);
      return answer('done');
    case 'die':
      console.error('fatal: out of luck');
      process.exit(7);
      break;
    case 'orphan':
      // What it leaves behind keeps its output open, so that only `exit` tells that it has gone.
      spawn('sleep', ['60'], { stdio: ['ignore', 'inherit', 'ignore'] }).once('spawn', () => process.exit(7));
      return;
    case 'pids': {
      const child = spawn('sleep', ['60'], { stdio: 'ignore', detached: mode.endsWith('apart') });
      child.unref();
      return answer(JSON.stringify([process.pid, child.pid]));
    }
    case 'pid':
      return answer(String(process.pid));
    case 'hang':
      return;
    case 'freeze':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      return;
    case 'noise':
      process.stdout.write('Server says hello\n{"jsonrpc": "2.0", broken\n[]\n\n{"id":1}\n');
      write({ id: 4711, result: {} });
      write({ id: 'text', error: { code: 1, message: 'nobody asked' } });
      write({ method: 'notifications/unheard/of' });
      return answer('still here');
    case 'batch': {
      const [first, ...others] = ['first', 'second'].map((text) => ({ type: 'text', text }));
      const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'in a batch' } };
      const broken = [note, { id: id + 1, result: { content: [first] } }];
      const whole = [note, { jsonrpc: '2.0', id, result: { content: others } }];
      process.stdout.write(`${JSON.stringify(broken)}\n${JSON.stringify(whole)}\n`);
      return;
    }
    case 'giant':
      return answer('x'.repeat(11 * 2 ** 20));
    case 'flood':
      for (let at = 0; at < 50_000; at += 1)
        write({ method: 'notifications/message', params: { level: 'info', data: at } });
      console.error('e'.repeat(300_000));
      return answer('after the flood');
    case 'blank':
      for (let at = 0; at < 80; at += 1) process.stdout.write('\n'.repeat(65_536));
      return answer('after the lines');
    case 'deaf': {
      process.stdin.pause();
      const ask = (): void => {
        for (let at = 0; at < 500; at += 1) write({ id: `ask ${asked++}`, method: 'ping' });
        setImmediate(ask);
      };
      return ask();
    }
    case 'chatty':
      onAnswer = () => (asked < 1500 ? write({ id: `ask ${asked++}`, method: 'ping' }) : answer('talked'));
      return onAnswer();
    case 'nap':
      // It asks while it does not read, as a program with one thread may.
      process.stdin.pause();
      setTimeout(() => write({ id: `ask ${asked++}`, method: 'ping' }), 300);
      return void setTimeout(() => {
        process.stdin.resume();
        answer('rested');
      }, 600);
    case 'beside': {
      const result = { content: [{ type: 'text', text: 'read' }], _meta: 5 };
      return write({ id, method: 'tools/call', params: {}, result, error: null, took: '3 ms' });
    }
    case 'odd-code':
      return write({ id, error: { code: 2 ** 60, message: 'too large for a code' } });
    case 'double':
      answer('first');
      return answer('second');
    case 'env':
      return answer(JSON.stringify(process.env));
    case 'grow':
      extra.push(`grown_${extra.length}`);
      write({ method: 'notifications/tools/list_changed' });
      return answer('grown');
    case 'progress': {
      // All in one piece, so that the answer arrives together with the last step.
      const step = (progress: number): string =>
        JSON.stringify({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken: token, progress, total: 2, message: 'on it' },
        });
      const end = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'whole' }] } });
      process.stdout.write([step(1), step(2), end, step(3), ''].join('\n'));
      return;
    }
    case 'cancelled':
      return answer(String(cancelled));
    default:
      return answer(typeof args.text === 'string' ? args.text : name);
  }
}

function initialize(id: number): void {
  if (mode === 'silent') return;
  const protocolVersion = mode === 'old-version' ? '1999-01-01' : '2025-06-18';
  const serverInfo = { name: 'hostile', version: '1' };
  write({
    id,
    result: {
      protocolVersion,
      ...(mode === 'nameless' ? {} : { serverInfo }),
      capabilities: { tools: { listChanged: true } },
      instructions: 'Be careful.',
    },
  });
}

if (mode === 'dies-at-start') {
  console.error('cannot open database');
  process.exit(3);
}
if (mode.startsWith('stubborn') || mode === 'keeps-apart') {
  if (mode !== 'keeps-apart') process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 1000);
}
if (mode === 'garbage') process.stdout.write('<html>not a server</html>\n');
if (mode === 'dies-after-listing') setTimeout(() => process.exit(5), 300);

createInterface({ input: process.stdin }).on('line', (line) => {
  const message: unknown = JSON.parse(line);
  if (mode === 'garbage' || !isJsonObject(message)) return;
  const id = Number(message.id);
  const params = isJsonObject(message.params) ? message.params : {};
  switch (message.method) {
    case 'initialize':
      return initialize(id);
    case 'tools/list':
      write(
        mode === 'no-list'
          ? { id, error: { code: -32_000, message: 'the disk is gone' } }
          : { id, result: list(params) },
      );
      if (mode === 'dies-after-listing') process.exit(5);
      return;
    case 'tools/call': {
      const meta = isJsonObject(params._meta) ? params._meta : {};
      const args = isJsonObject(params.arguments) ? params.arguments : {};
      return call(id, typeof params.name === 'string' ? params.name : '', args, meta.progressToken);
    }
    case 'notifications/cancelled':
      cancelled += 1;
      return;
    case 'ping':
      return write({ id, result: {} });
    case undefined:
      return onAnswer();
  }
});
