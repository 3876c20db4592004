import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { cases } from '../support/soak.ts';
import { noChromium, stage } from './browser.ts';

const { inspector, open } = stage();

/** More than a browser has connections to one server. */
const MANY = 9;

const letter = () =>
  fakeTool('send_letter', [{ sent: true }], {
    description: 'Sends a letter.',
    policy: 'confirm',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  });

test.skipIf(noChromium)('of many runs that wait at once each can be looked at, and answered', async () => {
  const { page, problems } = await open();
  const runs = Array.from({ length: MANY }, (_, n) => {
    const model = scriptedModel([calls(['send_letter', { to: `person ${n}` }]), `Letter ${n} is sent.`]);
    const agent = createAgent({ model, tools: [letter()], confirm: 'wait', silent: true, inspect: inspector() });
    return { run: agent.run(`Letter number ${n}`), said: `Letter ${n} is sent.`, task: `Letter number ${n}` };
  });
  const look = async (task: string): Promise<void> => {
    await page.keyboard.press('r');
    await page.getByRole('dialog').getByRole('button', { name: task }).click();
    await page.getByText(task.replace('Letter number', 'person')).filter({ visible: true }).first().waitFor();
  };
  for (const { task } of runs) await look(task);
  for (const { run, said, task } of runs) {
    await look(task);
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.locator('.answer-text').getByText(said).waitFor();
    expect((await run).success).toBe(true);
  }
  await look('Letter number 3');
  await page.locator('.answer-text').getByText('Letter 3 is sent.').waitFor();
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)('a page that follows what is new shows one run after the other, however many', async () => {
  const { page } = await open();
  for (let n = 0; n < MANY; n += 1) {
    const model = scriptedModel([`This is answer ${n}.`]);
    await createAgent({ model, silent: true, inspect: inspector() }).run(`Question ${n}`);
    await page.locator('.answer-text').getByText(`This is answer ${n}.`).waitFor();
  }
});

/** How long runs follow each other without a rest. */
const ENDLESS_MS = cases(1500, 30 * 60_000);

test.skipIf(noChromium)(
  `a page that is left open while runs follow each other stays under 150 MB`,
  { timeout: ENDLESS_MS + 120_000 },
  async () => {
    const { page } = await open();
    const heapMb = await heapOf(page);
    const pages = 'A page of text that a tool gives back. '.repeat(400);
    const sizes: number[] = [];
    const until = Date.now() + ENDLESS_MS;
    for (let n = 0; Date.now() < until || sizes.length < 2; n += 1) {
      const turns = Array.from({ length: 12 }, (_, turn) => calls(['read', { page: n * 12 + turn }]));
      const agent = createAgent({
        model: scriptedModel([...turns, `This is answer ${n}.`]),
        tools: [
          fakeTool(
            'read',
            Array.from({ length: 12 }, (_, turn) => ({ text: `${turn}: ${pages}` })),
          ),
        ],
        silent: true,
        inspect: inspector(),
      });
      await agent.run(`Question ${n}`);
      await page.locator('.answer-text').getByText(`This is answer ${n}.`).waitFor({ timeout: 45_000 });
      if (n % cases(5, 500) === 0) sizes.push(Math.round(await heapMb()));
    }
    console.log(`a page left open: ${sizes.join(', ')} MB`);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThan(150);
  },
);

test.skipIf(noChromium)(
  'a list that does not name all runs says how many are missing, and the filter finds them',
  async () => {
    const run = createAgent({ model: scriptedModel(['Hello.']), silent: true }).run('Greet');
    await run;
    const { page } = await open();
    for (let n = 0; n < 320; n += 1)
      inspector().open(
        run
          .recording()
          .replaceAll(run.runId, `numbered-${n}`)
          .replace(/"at":"[^"]*"/, `"at":"${new Date(n).toISOString()}"`),
      );
    await page.keyboard.press('r');
    const list = page.getByRole('dialog');
    const rows = list.locator('.session-row');
    await list.getByText(/^\d+ older ones$/).waitFor();
    expect(await rows.count()).toBe(300);
    await page.getByLabel('Filter runs').fill('numbered-0');
    await list.getByText('numbered-0').waitFor();
    expect([await rows.count(), await list.getByText('older ones').count()]).toEqual([1, 0]);
  },
);

/** Gives back how to know what a page and its worker hold, in MB of JavaScript, without what is garbage. */
async function heapOf(page: Page): Promise<() => Promise<number>> {
  const ofPage = await page.context().newCDPSession(page);
  const worker = Promise.withResolvers<string>();
  const answered = new Map<number, (usedSize: number) => void>();
  ofPage.on('Target.attachedToTarget', ({ sessionId }) => worker.resolve(sessionId));
  ofPage.on('Target.receivedMessageFromTarget', ({ message }) => {
    const { id, result } = JSON.parse(message) as { readonly id: number; readonly result: { usedSize?: number } };
    answered.get(id)?.(result.usedSize ?? 0);
  });
  await ofPage.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  const sessionId = await worker.promise;
  const toWorker = async (method: string): Promise<number> => {
    const id = answered.size + 1;
    const answer = new Promise<number>((resolve) => answered.set(id, resolve));
    await ofPage.send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method }) });
    return answer;
  };
  return async () => {
    await ofPage.send('HeapProfiler.collectGarbage');
    await toWorker('HeapProfiler.collectGarbage');
    const { usedSize } = await ofPage.send('Runtime.getHeapUsage');
    return (usedSize + (await toWorker('Runtime.getHeapUsage'))) / 1_000_000;
  };
}
