import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const script = () => scriptedModel([calls(['look']), 'Done.']);

test('showPrompts shows the system prompt of each request on the output, and only when asked', async () => {
  const shown: string[] = [];
  const output = { prompt: (text: string) => void shown.push(text) };
  const make = (showPrompts: boolean) =>
    createAgent({
      model: script(),
      tools: [fakeTool('look')],
      instructions: ({ state }) => `You are at step ${state.step}.`,
      output,
      showPrompts,
    });
  await make(false).run('Look');
  expect(shown).toEqual([]);
  await make(true).run('Look');
  expect(shown).toEqual(['You are at step 1.', 'You are at step 2.']);
});

test('debugPrompts lists the prompts in the trace', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-trace-'));
  try {
    const trace = join(folder, 'run.trace.json');
    const agent = createAgent({
      model: script(),
      tools: [fakeTool('look')],
      instructions: 'Be brief.',
      debugPrompts: true,
      silent: true,
    });
    await agent.run('Look', { trace });
    const written: { prompts: string[]; result: { reason: string }; recording: { t: string }[] } = JSON.parse(
      readFileSync(trace, 'utf8'),
    );
    expect(written.prompts).toEqual(['Be brief.', 'Be brief.']);
    expect(written.result.reason).toBe('answer');
    expect(written.recording.at(-1)?.t).toBe('end');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('instructions that are text cost no effect: only functions are asked', async () => {
  const effects = async (instructions: string | (() => string)) => {
    const run = createAgent({ model: scriptedModel(['Done.']), instructions, silent: true }).run('Look');
    await run;
    return run.transitions().filter(({ to }) => to === 'PLANNING.COMPOSING').length;
  };
  expect(await effects('Be brief.')).toBe(0);
  expect(await effects(() => 'Be brief.')).toBe(1);
});
