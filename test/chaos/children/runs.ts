/**
 * Begins or takes up runs, all at once, and ends when they are over. The job stands in the first argument. It may kill
 * itself on the way, or be killed.
 */
import { flushCompileCache } from 'node:module';
import { killAtLine } from './kill-at-line.ts';
import type { Job } from '../job.ts';

const job: Job = JSON.parse(process.argv[2] ?? '{}');
if (job.kill !== null) killAtLine(`${job.dir}/${job.kill.run}.jsonl`, job.kill.line, job.kill.torn);

// Loaded behind the above, so that it finds the file functions as they are now.
const { runAll } = await import('./run-all.ts');
flushCompileCache();
await runAll(job);
