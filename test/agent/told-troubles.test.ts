import { describe, expect, test } from 'vitest';
import type { ModelReply } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

/** A run that is stopped after these turns, with a tool that works, two that fail and one that is denied. */
async function stoppedAfter(...turns: readonly ModelReply[]) {
  const tools = [
    fakeTool('look', ['seen']),
    fakeTool('broken', [new Error('it is broken')]),
    fakeTool('lost', [new Error('it is lost')]),
    fakeTool('denied', [1], { policy: 'deny' }),
  ];
  return createAgent({ model: scriptedModel(turns), tools, maxSteps: turns.length, silent: true }).run('Go');
}

test('the model is told what failed in a turn, and what succeeded beside it', async () => {
  const { messages } = await stoppedAfter(calls(['look', { n: 1 }], ['broken'], ['denied'], ['lost']));
  expect(String(messages.at(-1)?.content).split('\n')).toEqual([
    'Tool execution failed. Please try an alternative approach.',
    '- Tool: broken',
    '  Arguments: {}',
    '  Error: Tool execution failed: it is broken',
    '- Tool: lost',
    '  Arguments: {}',
    '  Error: Tool execution failed: it is lost',
    'Original task: Go',
    'Already succeeded: look({"n":1})',
  ]);
});

describe('a run that is stopped shows', () => {
  test('the last of its errors', async () => {
    const stopped = await stoppedAfter(calls(['broken'], ['lost']));
    expect(stopped).toMatchObject({ reason: 'max-steps', error: { tool: 'lost' } });
  });

  test('none after a tool has worked', async () => {
    const stopped = await stoppedAfter(calls(['broken']), calls(['look']));
    expect(stopped).toMatchObject({ reason: 'max-steps', errorHistory: [{ tool: 'broken' }] });
    expect(stopped).not.toHaveProperty('error');
  });

  test('an error after which nothing ran', async () => {
    const stopped = await stoppedAfter(calls(['broken']), calls(['denied']));
    expect(stopped).toMatchObject({ reason: 'max-steps', error: { tool: 'broken' } });
  });
});
