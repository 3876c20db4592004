import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

function startedRun() {
  const tools = [fakeTool('pay', ['paid'], { policy: 'confirm' })];
  const model = scriptedModel([calls(['pay']), 'Done.', 'Next.']);
  const agent = createAgent({ model, tools, journal: memoryJournal(), silent: true, confirm: 'wait' });
  return agent.run('Pay');
}

test('the functions of a run work without it, however late they are taken off', async () => {
  const run = startedRun();
  const { approve, catch: caught, finally: lastly, orThrow, queue, reject, steer, then } = run;
  await expect.poll(() => run.pending).toHaveLength(1);
  const said = steer('Quickly.');
  const next = queue('And then?');
  expect(await reject('no such call')).toBe(false);
  expect(await approve(run.pending[0]?.callId ?? '')).toBe(true);
  expect(await said).toMatchObject({ delivered: true });
  expect(await next).toMatchObject({ delivered: true });
  const { cancel, recording, release, transitions } = run;
  expect(await orThrow()).toBe('Done.');
  expect(await then(({ result }) => result)).toBe('Done.');
  expect(await caught(() => null)).toMatchObject({ result: 'Done.' });
  expect(await lastly(() => undefined)).toMatchObject({ result: 'Done.' });
  expect(recording()).toContain('"t":"end"');
  expect(transitions().at(-1)).toMatchObject({ to: 'COMPLETION' });
  expect(await cancel()).toBe(false);
  expect(await release()).toBe(false);
});

test('a function that was taken off a run acts on that run, and on no other', async () => {
  const [one, other] = [startedRun(), startedRun()];
  const { cancel } = one;
  await expect.poll(() => [one.pending.length, other.pending.length]).toEqual([1, 1]);
  expect(await cancel('enough')).toBe(true);
  expect(await one).toMatchObject({ status: 'cancelled' });
  expect(other.pending).toHaveLength(1);
  await other.cancel();
});
