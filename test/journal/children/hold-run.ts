// Begins a run that waits for an approval, and waits to be killed. Arguments: kind of store, place, run id.
import { waiting } from '../stored-runs.ts';
import { openStore } from '../open-store.ts';

const [kind = '', place = '', runId = ''] = process.argv.slice(2);
const store = openStore(kind, place);
await waiting(store, runId);
store.secrets.keep(runId, { '«secret:1»': 'a-key' });
console.log('holding');
setInterval(() => undefined, 1000);
