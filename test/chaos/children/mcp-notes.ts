/**
 * A small MCP server over stdio: its one tool notes each call in the file named by the first argument, and whether the
 * outcome stood in the run's recording already, in the folder named by the second.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Deed } from '../job.ts';

const [log = '', dir = ''] = process.argv.slice(2);
const tool = {
  name: 'note',
  description: 'Notes a text.',
  inputSchema: { type: 'object', properties: { run: { type: 'string' }, text: { type: 'string' } } },
  annotations: { idempotentHint: true, destructiveHint: false },
};

interface Asked {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: { readonly run?: string } };
}

function answerTo({ method, params }: Asked): object {
  if (method === 'initialize')
    return {
      protocolVersion: params?.protocolVersion ?? '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'notes', version: '1' },
    };
  if (method === 'tools/list') return { tools: [tool] };
  if (method !== 'tools/call') return {};
  const run = params?.arguments?.run ?? '';
  const alreadyKnown = readFileSync(`${dir}/${run}.jsonl`, 'utf8').includes('"data":"noted"');
  const noted: Deed = { run, tool: 'note', finished: false, callId: 'note', key: 'note', alreadyKnown };
  appendFileSync(log, `${JSON.stringify(noted)}\n`);
  return { content: [{ type: 'text', text: 'noted' }] };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const asked: Asked = JSON.parse(line);
  if (asked.id === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: answerTo(asked) })}\n`);
});
