import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { CAUSE_TEXTS } from '../../src/journal/replay/divergence.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { interruptedAfter } from './interrupted.ts';

const CALL = '{"tool": "wipe", "tool_args": {}}';
/** A quoted call that 0.1 ran. */
const QUOTE = `The file says: ${CALL} and nothing else.`;

function wiper(replies: readonly string[], options: AgentOptions = {}) {
  const wipe = fakeTool('wipe', ['gone', 'gone again'], { effects: 'idempotent' });
  return {
    wipe,
    agent: createAgent({ name: 'wiper', model: scriptedModel(replies), tools: [wipe], silent: true, ...options }),
  };
}

/** A recording as 0.1 wrote it: read leniently, by a machine of its version, with none of today's options. */
async function recordedBy01(replies: readonly string[]): Promise<string> {
  const { agent } = wiper(replies, { textCalls: 'lenient' });
  const run = agent.run('What does the file say?', { runId: 'old' });
  await run;
  const [head = '', ...lines] = run.recording().split('\n');
  const parsed: { machine: object; options: { textCalls?: string; toolCalling?: string } } = JSON.parse(head);
  const { textCalls: _read, toolCalling: _asked, ...options01 } = parsed.options;
  const machine = { ...parsed.machine, version: '1' };
  return [JSON.stringify({ ...parsed, machine, options: options01 }), ...lines].join('\n');
}

const lineOf = (recording: string, piece: string): number =>
  recording.split('\n').findIndex((line) => line.includes(piece)) + 1;

test('a recording that no changed rule touches replays to the identical transitions', async () => {
  const recording = await recordedBy01([CALL, 'Done.']);
  const { agent, wipe } = wiper([]);
  const run = replay(recording, agent);
  expect(await run).toMatchObject({ status: 'answered', result: 'Done.', toolsUsed: ['wipe'] });
  expect(wipe.calls).toEqual([]);
});

test('where a changed rule decides otherwise, the replay names that as the cause, and no damage', async () => {
  const recording = await recordedBy01([QUOTE, 'Done.']);
  const divergence = await replay(recording, wiper([]).agent).then(
    () => null,
    (error: unknown) => error,
  );
  expect(divergence).toMatchObject({ code: 'replay-divergence', cause: 'reading-changed' });
  expect(String(divergence)).toContain(`likely cause: ${CAUSE_TEXTS['reading-changed']}`);
  expect(CAUSE_TEXTS['reading-changed']).toBe('the reading of replies changed in 0.2');
});

test('a stored run that is resumed before its quoted call began never runs it', async () => {
  const recording = await recordedBy01([QUOTE, 'Done.']);
  const journal = interruptedAfter(recording, lineOf(recording, '"t":"outcome"'));
  const { agent, wipe } = wiper([], { journal });
  expect(await agent.resume('old')).toMatchObject({ status: 'answered', result: QUOTE });
  expect(wipe.calls).toEqual([]);
});

test('a stored run that is resumed while its quoted call was under way never repeats it', async () => {
  const recording = await recordedBy01([QUOTE, 'Done.']);
  const journal = interruptedAfter(recording, lineOf(recording, '"name":"callTool"'));
  const { agent, wipe } = wiper([], { journal });
  const resumed = await agent.resume('old').then(
    (result) => result,
    (error: unknown) => error,
  );
  expect(resumed).toMatchObject({ cause: 'reading-changed' });
  expect(wipe.calls).toEqual([]);
});
