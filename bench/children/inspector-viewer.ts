// What the page does: follows the list of sessions, and reads every line of each. Argument: the inspector's address.
// Prints how many lines it got when its input ends.
import { once } from 'node:events';

const base = new URL(process.argv[2] ?? '');
const open = (path: string): Promise<Response> => {
  const url = new URL(path, base);
  url.search = base.search;
  return fetch(url);
};

async function* framesOf(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of (await open(path)).body ?? []) {
    text += decoder.decode(part, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: {')) yield line.slice('data: '.length);
  }
}

let frames = 0;
const followed = new Set<string>();

async function follow(id: string): Promise<void> {
  for await (const _frame of framesOf(`/api/sessions/${id}/stream`)) frames += 1;
}

async function list(): Promise<void> {
  for await (const frame of framesOf('/api/stream')) {
    const [, id] = /"session":\{"id":"([^"]+)"/.exec(frame) ?? [];
    if (id === undefined || followed.has(id)) continue;
    followed.add(id);
    void follow(id);
  }
}

void list().catch(() => undefined);
console.log('ready');
process.stdin.resume();
await once(process.stdin, 'end');
console.log(frames);
process.exit(0);
