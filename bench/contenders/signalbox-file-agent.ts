import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileJournal } from '../../src/journal/index.ts';
import type { Contender } from '../harness/job.ts';
import { signalboxAgent } from './signalbox-agent.ts';

/** The same agent, each run recorded in a file while it goes on. */
export const signalboxFileAgent: Contender = (job) => {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  return signalboxAgent({ journal: fileJournal(dir) })(job);
};
