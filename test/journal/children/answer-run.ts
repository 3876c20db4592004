// Begins a run that waits for an approval, gives it when a line comes, and says how the run ended. Arguments: as hold-run.
import { once } from 'node:events';
import { waiting } from '../stored-runs.ts';
import { openStore } from '../open-store.ts';

const [kind = '', place = '', runId = ''] = process.argv.slice(2);
const { run } = await waiting(openStore(kind, place), runId);
console.log('holding');
await once(process.stdin, 'data');
const [pending] = run.pending;
const answered = await run.approve(pending?.callId ?? '').catch((error: Error) => Reflect.get(error, 'code'));
const { status, error } = await run;
console.log(JSON.stringify({ answered, status, code: error?.code ?? null }));
process.exit();
