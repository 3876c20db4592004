// Begins a run that waits, starts this program again as the same process, as Bun's --watch does, and takes the run. Arguments:
// kind of store, place, run id.
import { waiting } from '../stored-runs.ts';
import { openStore } from '../open-store.ts';

const [kind = '', place = '', runId = '', again] = process.argv.slice(2);
const take = async (): Promise<string> => {
  try {
    return (await openStore(kind, place).take(runId)) === null ? 'none' : 'taken';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
};
if (again === undefined) await waiting(openStore(kind, place), runId);
console.log(`${process.pid} ${await take()}`);
const script = process.argv[1] ?? '';
if (again === undefined)
  process.execve?.(process.execPath, ['node', ...process.execArgv, script, kind, place, runId, 'again']);
process.exit();
