// Takes a run as soon as something comes on stdin, says how that went, and keeps it until stdin ends.
import { once } from 'node:events';
import { openStore } from '../open-store.ts';

const [kind = '', place = '', runId = ''] = process.argv.slice(2);
const store = openStore(kind, place);
await store.list();
console.log('ready');
await once(process.stdin, 'data');
try {
  console.log((await store.take(runId)) === null ? 'none' : 'taken');
} catch (error) {
  console.log(error instanceof Error && 'code' in error ? error.code : String(error));
}
process.stdin.resume();
await once(process.stdin, 'end');
process.exit(0);
