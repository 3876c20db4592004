import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fileJournal } from '../../src/journal/stores/file.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { temporaryFolder } from './temporary-folder.ts';

const KEY = `sk-${'q'.repeat(30)}`;
const CHANGING = [
  'openSync',
  'closeSync',
  'writeSync',
  'writeFileSync',
  'linkSync',
  'unlinkSync',
  'rmSync',
  'renameSync',
  'truncateSync',
  'mkdirSync',
  'utimesSync',
] as const;

type When = 'before it did anything' | 'after it was done';

/** Lets one of Node's calls that change files fail, in a folder: the one with this number. `says`: what it was, '' if none was. */
function failingAt(
  number: number,
  folder: string,
  when: When,
): { readonly says: () => string; readonly stop: () => void } {
  let [count, said] = [0, ''];
  const real = Object.fromEntries(CHANGING.map((name) => [name, fs[name]]));
  const paths = new Map<unknown, string>();
  for (const name of CHANGING) {
    const call = fs[name];
    Reflect.set(fs, name, (...args: unknown[]) => {
      const path = paths.get(args[0]) ?? String(args[0]);
      const counts = path.startsWith(folder) && !(name === 'openSync' && args[1] === 'r');
      const fails = counts && ++count === number;
      // A file that could not be closed is closed all the same.
      const isDone = !fails || when === 'after it was done' || name === 'closeSync';
      const done: unknown = isDone ? Reflect.apply(call, fs, args) : undefined;
      if (name === 'openSync') paths.set(done, path);
      if (name === 'closeSync') paths.delete(args[0]);
      if (!fails) return done;
      said = `${name} ${path.slice(folder.length + 1)}`;
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    });
  }
  syncBuiltinESMExports();
  const stop = (): void => {
    Object.assign(fs, real);
    syncBuiltinESMExports();
  };
  return { says: () => said, stop };
}

test.each<When>(['before it did anything', 'after it was done'])(
  'whatever call fails once %s, a run is done once, goes on later, and leaves no lock and no secret',
  async (when) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    onTestFinished(() => {
      vi.useRealTimers();
      vi.restoreAllMocks();
    });
    const wrong: string[] = [];
    for (let number = 1, failed = 'something'; failed !== ''; number++) {
      await using folder = await temporaryFolder();
      const inputSchema = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
      const pay = fakeTool('pay', ['paid'], { effects: 'once', policy: 'confirm', inputSchema });
      const agent = (...replies: ScriptedReply[]) =>
        createAgent({ model: scriptedModel(replies), tools: [pay], journal: fileJournal(folder.path), silent: true });
      const failing = failingAt(number, folder.path, when);
      const asking = ({ messages }: { readonly messages: readonly { readonly content?: unknown }[] }) =>
        calls(['pay', { key: String(messages.at(-1)?.content) }]);
      await agent(asking).conversation('ann').run(KEY, { runId: 'run', park: true });
      await agent()
        .approve('run', 'c1')
        .catch(() => false);
      const resumed = await agent('Paid.')
        .resume('run', { park: true })
        .catch(() => null);
      failing.stop();
      failed = failing.says();
      // What could not be given back is given back with the next sign of life.
      vi.advanceTimersByTime(10_000);
      const [kept] = await fileJournal(folder.path).list();
      if (resumed?.status === 'answered' && kept?.status !== 'answered') wrong.push(`${failed}: an answer is lost`);
      if (kept !== undefined && kept.state !== 'ended') {
        await agent()
          .approve('run', 'c1')
          .catch(() => false);
        const again = await agent('Paid.')
          .resume('run', { park: true })
          .catch((error: unknown) => ({ error }));
        if (!('status' in again) || again.status !== 'answered') wrong.push(`${failed}: it cannot go on`);
      }
      const next = await agent('Well.').conversation('ann').run('And now?');
      if (next.status !== 'answered') wrong.push(`${failed}: its conversation cannot go on`);
      if (pay.calls.some(({ key }) => key !== KEY)) wrong.push(`${failed}: it was paid with another key`);
      if (pay.calls.length > 1) wrong.push(`${failed}: it was paid twice`);
      for (const name of fs.readdirSync(folder.path)) {
        if (name.endsWith('.lock')) wrong.push(`${failed}: it left ${name}`);
        if (name.endsWith('.jsonl') && fs.readFileSync(join(folder.path, name), 'utf8').includes(KEY))
          wrong.push(`${failed}: a secret stands in ${name}`);
      }
    }
    expect(wrong).toEqual([]);
  },
);
