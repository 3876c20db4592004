// Begins a run that waits for an approval in a worker thread, tries to take it itself, terminates that, and lives on. Arguments: as hold-run.
import { once } from 'node:events';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { openStore } from '../open-store.ts';
import { waiting } from '../stored-runs.ts';

const [kind = '', place = '', runId = '']: readonly string[] = isMainThread ? process.argv.slice(2) : workerData;
if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { workerData: [kind, place, runId] });
  await once(worker, 'message');
  const refused = await openStore(kind, place)
    .take(runId)
    .catch((error: unknown) => error);
  console.log(String(Reflect.get(Object(refused), 'code')));
  await once(process.stdin, 'data');
  await worker.terminate();
  console.log('terminated');
  setInterval(() => undefined, 1000);
} else {
  await waiting(openStore(kind, place), runId);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and no window
  parentPort?.postMessage('holding');
  setInterval(() => undefined, 1000);
}
