import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { openStore } from './open-store.ts';
import { recordsOf, taken } from './stored-runs.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A process of a test, one of the scripts in `children`, and the lines that it prints. */
export function start(script: string, ...args: readonly string[]) {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [
    ...BUNDLED,
    join(import.meta.dirname, `children/${script}.ts`),
    ...args,
  ]);
  child.stderr.pipe(process.stderr);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    child,
    line: async (): Promise<string> => (await lines.next()).value ?? 'ended',
    kill: async (): Promise<void> => {
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** What holds of every store that several processes use at once. */
export function processContract(kind: 'file' | 'sqlite', placeIn: (folder: string) => string): void {
  describe(`${kind}, with several processes`, () => {
    test('a run that another process writes is running, and cannot be taken, removed or begun anew', async () => {
      await using folder = await temporaryFolder();
      const place = placeIn(folder.path);
      const holder = start('hold-run', kind, place, 'run');
      expect(await holder.line()).toBe('holding');
      const store = openStore(kind, place);
      expect(await store.list()).toMatchObject([{ runId: 'run', state: 'running' }]);
      await expect(store.take('run')).rejects.toMatchObject({ code: 'run-locked' });
      await expect(store.remove('run')).rejects.toMatchObject({ code: 'run-locked' });
      const other = start('write-runs', kind, place, 'other', '1');
      expect(await other.line()).toBe('1');
      await holder.kill();
    });

    test('the run of a process that was killed waits at once, with its secrets, and can be taken', async () => {
      await using folder = await temporaryFolder();
      const place = placeIn(folder.path);
      const holder = start('hold-run', kind, place, 'run');
      await holder.line();
      await holder.kill();
      const store = openStore(kind, place);
      expect(await store.list()).toMatchObject([{ runId: 'run', state: 'waiting', steps: 1 }]);
      expect(store.secrets.read('run')).toEqual({ '«secret:1»': 'a-key' });
      const { recording, sink } = await taken(store, 'run');
      expect(recording.lines.at(-1)).toMatchObject({ t: 'start', name: 'askApproval' });
      await sink.append([{ t: 'end', at: 5, output: null }]);
      await sink.close();
      expect((await recordsOf(store, 'run')).at(-1)).toMatchObject({ t: 'end' });
      expect(store.secrets.read('run')).toEqual({});
    });

    test('the run of a worker thread that was terminated can be taken at once, while its process lives', async () => {
      await using folder = await temporaryFolder();
      const place = placeIn(folder.path);
      const holder = start('hold-in-thread', kind, place, 'run');
      expect(await holder.line()).toBe('run-locked');
      const store = openStore(kind, place);
      await expect(store.take('run')).rejects.toMatchObject({ code: 'run-locked' });
      holder.child.stdin.write('now');
      expect(await holder.line()).toBe('terminated');
      expect(await store.list()).toMatchObject([{ runId: 'run', state: 'waiting' }]);
      await (await taken(store, 'run')).sink.close();
      await holder.kill();
    });

    test.skipIf(process.platform === 'win32')(
      'the run of a program that is started again as the same process can be taken at once, and not before',
      async () => {
        await using folder = await temporaryFolder();
        const program = start('start-again', kind, placeIn(folder.path), 'run');
        const { pid } = program.child;
        expect([await program.line(), await program.line()]).toEqual([`${pid} run-locked`, `${pid} taken`]);
        expect(await program.line()).toBe('ended');
      },
    );

    test('of many processes that want a run left behind, one gets it', async () => {
      await using folder = await temporaryFolder();
      const place = placeIn(folder.path);
      const holder = start('hold-run', kind, place, 'run');
      await holder.line();
      await holder.kill();
      const wanting = Array.from({ length: 3 }, () => start('take-run', kind, place, 'run'));
      await Promise.all(wanting.map(({ line }) => line()));
      for (const { child } of wanting) child.stdin.write('now');
      const answers = await Promise.all(wanting.map(({ line }) => line()));
      expect(answers.toSorted()).toEqual([...Array.from({ length: 2 }, () => 'run-locked'), 'taken']);
      await Promise.all(wanting.map(({ kill }) => kill()));
      await (await taken(openStore(kind, place), 'run')).sink.close();
    });

    test('processes that write at once lose nothing', async () => {
      await using folder = await temporaryFolder();
      const place = placeIn(folder.path);
      const writing = ['a', 'b', 'c'].map((name) => start('write-runs', kind, place, name, '10'));
      expect(await Promise.all(writing.map(({ line }) => line()))).toEqual(['10', '10', '10']);
      const runs = await openStore(kind, place).list({ status: 'answered' });
      expect(runs).toHaveLength(30);
      expect(runs.every(({ records }) => records === 8)).toBe(true);
    });
  });
}
