import 'signalbox/testing/vitest';
import { createAgent, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
import { expect, test } from 'vitest';

const clock = tool({ name: 'clock', description: 'Tells the time.', execute: () => '12:30' });
test('the matchers say what a run did', async () => {
  const model = scriptedModel([{ content: '', toolCalls: [{ name: 'clock' }] }, 'Half past twelve.']);
  const run = createAgent({ tools: [clock], silent: true, model }).run('What time is it?');
  await expect(run).toHaveCalledTool('clock');
  await expect(run).toEndWith('answer', /twelve/);
  await expect(run).toHaveVisited('PLANNING', 'DIRECT_EXECUTION', 'COMPLETION');
  await expect(expect(run).toHaveCalledTool('other')).rejects.toThrow(/other/);
});
