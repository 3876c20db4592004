// Takes all runs of a store that it can get, as soon as something comes on stdin, and says how many these were.
import { once } from 'node:events';
import { openStore } from '../open-store.ts';

const [kind = '', place = ''] = process.argv.slice(2);
const store = openStore(kind, place);
const ids = (await store.list()).map(({ runId }) => runId);
console.log('ready');
await once(process.stdin, 'data');
const taken = await Promise.allSettled(ids.map((runId) => store.take(runId)));
console.log(taken.filter(({ status }) => status === 'fulfilled').length);
await once(process.stdin.resume(), 'end');
process.exit(0);
