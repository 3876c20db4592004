/** The program behind `stdioToolServer`: a file of tools, and a file to which it writes the names of the tools that ran. */
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type JsonObject, isJsonObject } from '../../../src/json/json.ts';

interface Reply {
  readonly answer: JsonObject | null;
  readonly changed: boolean;
}

/** What the server says to one message. A call of `reload` runs like any other, and the list is then another one. */
export function replyTo(message: JsonObject, tools: () => unknown, onRun: (tool: string) => void): Reply {
  const { id, method } = message;
  if (id === undefined || method === undefined) return { answer: null, changed: false };
  const params = isJsonObject(message.params) ? message.params : {};
  const say = (result: unknown): Reply => {
    const answer: unknown = { jsonrpc: '2.0', id, result };
    return { answer: isJsonObject(answer) ? answer : null, changed: params.name === 'reload' };
  };
  if (method === 'initialize') {
    const capabilities = { tools: { listChanged: true } };
    return say({ protocolVersion: '2025-06-18', serverInfo: { name: 'tools', version: '1' }, capabilities });
  }
  if (method === 'tools/list') return listOf(tools(), say);
  if (method !== 'tools/call') return say({});
  onRun(String(params.name));
  return say({ content: [{ type: 'text', text: `ran ${String(params.name)}` }] });
}

/** A list that has a tool `mute` is never given. */
function listOf(tools: unknown, say: (result: unknown) => Reply): Reply {
  const isMute = JSON.stringify(tools).includes('"name":"mute"');
  return isMute ? { answer: null, changed: false } : say({ tools });
}

const [, main = '', list = '', log = ''] = process.argv;
if (main === fileURLToPath(import.meta.url)) {
  const write = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message: unknown = JSON.parse(line);
    if (!isJsonObject(message)) return;
    const tools = (): unknown => JSON.parse(readFileSync(list, 'utf8'));
    const { answer, changed } = replyTo(message, tools, (tool) => appendFileSync(log, `${tool}\n`));
    if (changed) write({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    if (answer !== null) write(answer);
  });
}
