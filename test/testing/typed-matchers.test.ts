import { describe, expect, test } from 'vitest';
import '../../src/testing/vitest.ts';
import { z } from 'zod';
import { createAgent } from '../../src/agent/create-agent.ts';
import { assertOutput, hostileModel } from '../../src/testing/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

const BOOK = z.object({ title: z.string(), tags: z.array(z.string()) });
const DUNE = { title: 'Dune', tags: ['sand', 'worms'] };
const reading = (reply: string) =>
  createAgent({ model: scriptedModel([reply, reply, reply]), silent: true, outputSchema: BOOK }).run('Go');

describe('toHaveOutput and assertOutput', () => {
  test('hold for a run, a result and a recording with at least this output', async () => {
    const run = reading(JSON.stringify(DUNE));
    await expect(run).toHaveOutput({ title: 'Dune' });
    await expect(run).toHaveOutput();
    const result = await run;
    expect(result).toHaveOutput(DUNE);
    expect(run.recording()).toHaveOutput({ tags: ['sand', 'worms'] });
    expect(result).not.toHaveOutput({ title: 'Emma' });
    assertOutput(result, { title: 'Dune' });
    await assertOutput(reading(JSON.stringify(DUNE)), DUNE);
  });

  test('fail for another output, and for none', async () => {
    const result = await reading(JSON.stringify(DUNE));
    expect(() => assertOutput(result, { title: 'Emma' })).toThrow(/Emma/);
    const without = await reading('no');
    expect(() => assertOutput(without)).toThrow(/output-invalid/);
    expect(() => expect(without).toHaveOutput()).toThrow();
    expect(without).not.toHaveOutput();
    const text = await createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Go');
    expect(text).not.toHaveOutput();
  });
});

test.each(['output-prose', 'output-wrong-type', 'output-cut-off', 'output-beside-tools'] as const)(
  'hostileModel makes the mistake %s, and never a wrong output of it',
  async (mistake) => {
    let made = 0;
    for (let seed = 0; seed < 12; seed++) {
      const look = fakeTool('look', [{}, {}, {}, {}]);
      const says = scriptedModel(Array.from({ length: 9 }, () => calls(['final_answer', DUNE])));
      const model = hostileModel({ model: says, mistakes: [mistake], rate: 0.6, seed });
      const result = await createAgent({ model, tools: [look], silent: true, outputSchema: BOOK }).run('Go');
      made += model.mistakesMade.length;
      if (result.success) expect(result.output).toEqual(DUNE);
      else expect(result).toMatchObject({ reason: 'output-invalid', output: null });
    }
    expect(made).toBeGreaterThan(0);
  },
);
