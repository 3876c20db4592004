import type { DatabaseSync } from 'node:sqlite';
import { inTransaction, patientlyLater } from './sqlite-database.ts';

/** What is to be done in the next transaction; throws when it cannot be. */
type Work = () => void;

interface Waiting {
  readonly work: Work;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Collects what all runs want to write and writes it in one transaction: everything that was asked for in one turn of the
 * event loop, or while the one before was committed. Resolves when it is committed. Work that throws fails alone.
 */
export function sqliteQueue(database: DatabaseSync): (work: Work) => Promise<void> {
  let waiting: Waiting[] = [];
  let scheduled = false;

  const commit = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    const failures = new Map<Waiting, unknown>();
    try {
      await patientlyLater(() => {
        failures.clear();
        inTransaction(database, () => {
          for (const one of batch) attempt(one, failures);
        });
      });
    } catch (error) {
      for (const one of batch) failures.set(one, error);
    }
    for (const one of batch) {
      if (failures.has(one)) one.failed(failures.get(one));
      else one.done();
    }
    if (waiting.length > 0) setImmediate(start);
    else scheduled = false;
  };
  const start = (): void => void commit();

  return (work) =>
    new Promise((done, failed) => {
      waiting.push({ work, done, failed });
      if (scheduled) return;
      scheduled = true;
      setImmediate(start);
    });

  /** What a failed piece of work has done already is taken back; the others' stays. */
  function attempt(one: Waiting, failures: Map<Waiting, unknown>): void {
    database.exec('savepoint one');
    try {
      one.work();
    } catch (error) {
      failures.set(one, error);
      database.exec('rollback to one');
    }
    database.exec('release one');
  }
}
