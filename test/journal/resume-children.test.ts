import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Model, ModelReply } from '../../src/actors/model.ts';
import type { JournalStore } from '../../src/journal/run/run-journal.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { calls } from '../support/replies.ts';
import { interruptedAfter, lineCount, timeless } from './interrupted.ts';

/** A model that knows by the conversation how often it has answered, so that a new one goes on where the last stood. */
const answering = (...replies: readonly ModelReply[]): Model => ({
  id: 'remembering',
  complete: async ({ messages }) =>
    replies[messages.filter(({ role }) => role === 'assistant').length] ?? { content: 'lost' },
});

/** A chief whose worker looks, fails, escalates, and is told to make do. */
function team(journal?: JournalStore) {
  const look = fakeTool('look', [{ seen: 'a cat' }], { effects: 'idempotent' });
  const fetch = fakeTool('fetch', [new Error('gone')], {
    effects: 'idempotent',
    onError: { executionError: recover.escalate('cannot be fetched', 'low') },
  });
  const worker = createAgent({
    name: 'worker',
    instructions: 'You work.',
    model: answering(calls(['look'], ['fetch']), calls(['look', { again: true }]), { content: 'There is a cat.' }),
    tools: [look, fetch],
    onEscalation: (_error, to) => to.escalate('not my job', 'low'),
    silent: true,
  });
  return createAgent({
    name: 'chief',
    instructions: 'You lead.',
    model: answering(calls(['worker', { task: 'Look' }], ['worker', { task: 'Look twice' }]), { content: 'A cat.' }),
    children: [worker],
    silent: true,
    ...(journal === undefined ? {} : { journal }),
  });
}

test('a run goes on from every line, also from within its children', async () => {
  const original = team().run('What is here?', { runId: 'one' });
  const result = { ...(await original), durationMs: 0 };
  const recording = original.recording();
  expect(result).toMatchObject({ status: 'answered', result: 'A cat.' });
  expect(lineCount(recording)).toBeGreaterThan(20);
  for (let lines = 1; lines < lineCount(recording); lines++) {
    const journal = interruptedAfter(recording, lines);
    const run = team(journal).resume('one');
    expect({ ...(await run), durationMs: 0 }, `after line ${lines}`).toEqual(result);
    expect(run.transitions().length).toBe(original.transitions().length);
    expect(timeless(journal.text()).split('\n').toSorted()).toEqual(timeless(recording).split('\n').toSorted());
  }
});
