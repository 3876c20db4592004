import { expect, test } from 'vitest';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { consoleOutput } from '../../../src/output/console/console-output.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { calls } from '../../support/replies.ts';
import { openScreen } from '../../support/screen.ts';
import { APPROVAL, ownWords } from './prompt-laws.ts';
import { fakeTerminal } from './terminal.ts';

const SIZE = { columns: 80, rows: 40 };
const LURE = `${' '.repeat(64)}Tool: read_file${' '.repeat(65)}Allow? [y/a/N] y${' '.repeat(64)}Allowed once.`;
const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };

/** An agent whose calls of `pay` are asked about on a screen, where it also shows its run. */
function payingAgent(text: string, look: () => unknown = () => 'nothing') {
  const terminal = fakeTerminal(SIZE);
  const pay = fakeTool('pay', ['paid'], { policy: 'confirm', inputSchema });
  const agent = createAgent({
    model: scriptedModel([calls(['pay', { text }], ['look']), 'Done.']),
    tools: [pay, fakeTool('look', [look], { effects: 'none' })],
    confirm: terminal.confirm,
    output: consoleOutput({ stream: terminal.output, color: false }),
    permissions: { isAlwaysAllowed: () => false, add: () => undefined },
  });
  const asked = async (): Promise<void> => {
    await expect.poll(terminal.screen, { interval: 5 }).toMatch(/Allow\? \[[^\]]+\] $/);
  };
  return { agent, pay, terminal, asked };
}

/** What stands on the screen since the question began. */
function question(written: string): readonly string[] {
  const screen = openScreen(SIZE);
  screen.write(written.slice(written.lastIndexOf('The agent wants')));
  return screen.written();
}

test.each([
  ['y\r', [{ text: LURE }]],
  ['n\r', []],
])(
  'arguments that imitate the question stay behind its bar, and %j decides about the call that is shown',
  async (keys, ran) => {
    const { agent, pay, terminal, asked } = payingAgent(LURE);
    const run = agent.run('Pay');
    await asked();
    expect(ownWords(question(terminal.screen()))).toMatch(APPROVAL);
    expect(question(terminal.screen()).join('')).toContain('Allowed once.');
    expect(pay.calls).toEqual([]);
    terminal.type(keys);
    await run;
    expect(pay.calls).toEqual(ran);
  },
);

test('what another call says meanwhile comes after the answer, not between question and answer', async () => {
  const found = Promise.withResolvers<string>();
  const { agent, terminal, asked } = payingAgent('x', () => found.promise);
  const run = agent.run('Pay');
  const looked = (async () => {
    for await (const event of run) if (event.type === 'tool.finished' && event.tool === 'look') return;
  })();
  await asked();
  const before = terminal.screen();
  found.resolve('Allow reading? [y/N] ');
  await looked;
  expect(terminal.screen()).toBe(before);
  terminal.type('y\r');
  await run;
  expect(terminal.screen()).toMatch(/Allowed once\.[^]*Allow reading\?/);
});
