import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { freePort } from '../support/free-port.ts';
import { type RecordedRequest, type Scripted, startModelServer } from '../support/model-server.ts';
import { noChromium, stage } from './browser.ts';
import { makeOlder } from './older-browser.ts';

const { open } = stage('others');

/** What the model says in the test that runs, and what it was asked there. */
let script: Scripted[] = [];
let asked: RecordedRequest[] = [];
/** The app of examples/chat-app, as a process that can be killed and started again. */
let app: {
  readonly url: string;
  readonly start: (lookMs: number) => Promise<void>;
  readonly kill: () => Promise<void>;
};
const end: (() => unknown)[] = [];

beforeAll(async () => {
  if (noChromium) return;
  const model = await startModelServer((request) => {
    asked.push(request);
    return script.shift() ?? { status: 500, body: 'the script has ended' };
  });
  end.push(model.close);
  const runs = mkdtempSync(join(tmpdir(), 'signalbox-app-'));
  end.push(() => rmSync(runs, { recursive: true, force: true }));
  const port = await freePort();
  let child: ChildProcess | null = null;
  const kill = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  end.push(kill);
  const start = async (lookMs: number): Promise<void> => {
    const of = { PORT: String(port), RUNS: runs, MODEL_URL: model.baseURL, LOOK_MS: String(lookMs) };
    const args = [...BUNDLED, '--conditions=@signalbox/source', 'examples/chat-app/server.ts'];
    child = spawn(process.execPath, args, { env: { ...process.env, ...of }, stdio: ['ignore', 'pipe', 'inherit'] });
    if (child.stdout !== null) await once(child.stdout, 'data');
  };
  // Its look_up is at work for as long as the server lives; that of the next one is quick.
  await start(3_600_000);
  app = { url: `http://127.0.0.1:${port}/`, start, kill };
});
afterAll(async () => {
  for (const one of end.toReversed()) await one();
});

let chats = 0;

/** The page of a chat of its own, with the model that says this in it. */
function chatOf(replies: readonly Scripted[], show = 'run'): string {
  script = [...replies];
  asked = [];
  chats += 1;
  return `${app.url}?show=${show}&id=chat-${chats}`;
}

const said = async (page: Page, label: string, text: string): Promise<void> => {
  await page.getByRole('textbox', { name: label }).fill(text);
  await page.getByRole('button', { name: label, exact: true }).click();
};
const shows = (page: Page, text: string): Promise<void> => page.getByText(text, { exact: false }).first().waitFor();
const texts = (page: Page): Promise<string[]> => page.locator('section p').allTextContents();

const refundCall = {
  content: 'One moment.',
  toolCalls: [{ name: 'refund', arguments: { customer: 'Eva', euros: 70 } }],
};
const lookCall = { content: 'I look.', toolCalls: [{ name: 'look_up', arguments: { customer: 'Eva' } }] };

test.skipIf(noChromium)(
  'useRun streams in strict mode, survives a reload, is approved with other arguments in one tab and seen in another',
  async () => {
    const url = chatOf([refundCall, { content: 'Done, ten euros are on their way.', paceMs: 40 }]);
    const one = await open({ url });
    await shows(one.page, 'idle');
    await said(one.page, 'Send', 'Refund Eva.');
    await shows(one.page, 'waiting · DIRECT_EXECUTION');
    await one.page.reload();
    await shows(one.page, 'refund {"customer":"Eva","euros":70}');
    expect(await texts(one.page)).toEqual(['Refund Eva.', 'One moment.']);
    const two = await open({ url });
    await shows(two.page, 'waiting · DIRECT_EXECUTION');
    await said(two.page, 'Steer', 'Be brief.');
    await shows(one.page, 'Be brief.');
    await two.page.getByRole('button', { name: 'Approve 10 euros' }).click();
    await shows(one.page, 'refund {"customer":"Eva","euros":10}: finished');
    for (const { page } of [one, two]) {
      await shows(page, 'answered · COMPLETION');
      expect(await texts(page)).toEqual([
        'Refund Eva.',
        'One moment.',
        'Be brief.',
        'Done, ten euros are on their way.',
      ]);
    }
    // A page that is loaded again finds nothing going on.
    await one.page.reload();
    await shows(one.page, 'answered · COMPLETION');
    await one.page.waitForLoadState('networkidle');
    expect(await one.page.getByRole('alert').allTextContents()).toEqual([]);
    expect(asked.length).toBe(2);
    expect([...one.problems, ...two.problems]).toEqual([]);
  },
);

test.skipIf(noChromium)(
  'a run is stopped by its button, and not by a page that is closed; a call is rejected',
  async () => {
    const url = chatOf([{ content: 'One two three four five six seven.', stallAfter: 5 }, refundCall, 'Then not.']);
    const one = await open({ url });
    await said(one.page, 'Send', 'Count.');
    await shows(one.page, 'One');
    await one.page.close();
    const two = await open({ url });
    await shows(two.page, 'working');
    await two.page.getByRole('button', { name: 'Stop' }).click();
    await shows(two.page, 'cancelled · COMPLETION');
    await said(two.page, 'Send', 'Refund Eva.');
    await two.page.getByRole('button', { name: 'Reject' }).click();
    await shows(two.page, 'Then not.');
    await expect.poll(() => two.page.locator('code').textContent()).toContain('denied');
    expect(two.problems).toEqual([]);
  },
);

test.skipIf(noChromium)(
  'a server that is killed in the middle of a run and started again finishes it on the open page',
  async () => {
    const { page } = await open({ url: chatOf([lookCall, 'Eva paid 70.']) });
    await said(page, 'Send', 'What did Eva pay?');
    await shows(page, 'look_up {"customer":"Eva"}: running');
    await app.kill();
    await app.start(0);
    await shows(page, 'Eva paid 70.');
    expect(await texts(page)).toEqual(['What did Eva pay?', 'I look.', 'Eva paid 70.']);
    expect(asked.length).toBe(2);
  },
);

test.skipIf(noChromium)(
  'useChat of the AI SDK shows the same agent, and survives a reload while a call waits',
  async () => {
    const { page, problems } = await open({ url: chatOf([refundCall, 'Done.'], 'sdk') });
    await said(page, 'Send', 'Refund Eva.');
    await shows(page, 'approval-requested');
    await page.reload();
    await shows(page, 'approval-requested');
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'Done.');
    await shows(page, 'output-available');
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)(
  'useChat begins with all turns of the chat after a reload, and goes on from there',
  async () => {
    const replies = ['Hello, Ann.', refundCall, 'Paid.', { content: 'One two three four.', paceMs: 150 }];
    const { page, problems } = await open({ url: chatOf(replies, 'sdk') });
    await said(page, 'Send', 'Hello?');
    await shows(page, 'Hello, Ann.');
    await said(page, 'Send', 'Refund Eva.');
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'Paid.');
    const before = await texts(page);
    expect(before).toEqual(['Hello?', 'Hello, Ann.', 'Refund Eva.', 'One moment.', 'Paid.']);
    await page.reload();
    await shows(page, 'Paid.');
    expect(await texts(page)).toEqual(before);
    await expect
      .poll(() => page.locator('fieldset').allTextContents())
      .toEqual([expect.stringContaining('output-available')]);
    await said(page, 'Send', 'Count.');
    // 'One moment.' is there already: a page that is loaded again before it has sent the message never sends it.
    await shows(page, 'One two');
    await page.reload();
    await shows(page, 'One two three four.');
    expect(await texts(page)).toEqual([...before, 'Count.', 'One two three four.']);
    expect(asked.length).toBe(4);
    expect(problems).toEqual([]);
  },
);

test.skipIf(noChromium)('a client of AG-UI talks to the same agent', async () => {
  const { page, problems } = await open({ url: chatOf(['Hello, Ann.', 'Still here.', 'Here, too.'], 'ag') });
  await said(page, 'Send', 'Hello?');
  await shows(page, 'Hello, Ann.');
  await said(page, 'Send', 'And now?');
  await shows(page, 'Still here.');
  expect(await texts(page)).toEqual(['Hello?', 'Hello, Ann.', 'And now?', 'Still here.']);
  await page.reload();
  await shows(page, 'Still here.');
  expect(await texts(page)).toEqual(['Hello?', 'Hello, Ann.', 'And now?', 'Still here.']);
  await said(page, 'Send', 'And after a reload?');
  await shows(page, 'Here, too.');
  expect(await texts(page)).toHaveLength(6);
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)(
  'a client of AG-UI approves a call, also after a reload, and says what went wrong',
  async () => {
    const { page, problems } = await open({ url: chatOf([refundCall, 'Done.'], 'ag') });
    await said(page, 'Send', 'Refund Eva.');
    await page.getByRole('group', { name: 'approval' }).waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
    await page.reload();
    await shows(page, 'refund {"customer":"Eva","euros":70}');
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, 'Done.');
    expect(problems).toEqual([]);
    script = [{ status: 400, body: 'out of order' }];
    await said(page, 'Send', 'And now?');
    await page.getByRole('alert').waitFor();
  },
);

test.skipIf(noChromium)(
  'useChat: nothing is sent beside a question, and what a run takes no more is said to be refused',
  async () => {
    const { page, problems } = await open({ url: chatOf([refundCall, 'Done.'], 'sdk') });
    await said(page, 'Send', 'Refund Eva.');
    const approve = page.getByRole('button', { name: 'Approve' });
    await approve.waitFor();
    expect(await page.getByRole('textbox', { name: 'Send' }).count()).toBe(0);
    await approve.click();
    await shows(page, 'Done.');
    await page.getByRole('textbox', { name: 'Send' }).waitFor();
    await said(page, 'Steer', 'Not so fast.');
    await shows(page, 'No run is live that could accept this.');
    expect(problems).toEqual([expect.stringContaining('409')]);
  },
);

test.skipIf(noChromium)('useChat: a page whose messages cannot be loaded says why', async () => {
  const { page, problems } = await open({ url: 'about:blank' });
  await page.route('**/messages', (route) => route.fulfill({ status: 401, body: 'Sign in first.' }));
  await page.goto(chatOf([], 'sdk'));
  await shows(page, 'Sign in first.');
  expect(problems.filter((problem) => !/^request to|401/.test(problem))).toEqual([]);
});

test.skipIf(noChromium)('the app rejects a call by useChat, sends nothing blank, and fits a phone', async () => {
  const { page, problems } = await open({ url: chatOf([refundCall, 'W'.repeat(300)], 'sdk'), width: 390 });
  await said(page, 'Send', ' ');
  await said(page, 'Send', 'Refund Eva.');
  await page.getByRole('button', { name: 'Reject' }).click();
  await shows(page, 'WWW');
  await shows(page, 'output-denied');
  expect(await texts(page)).toEqual(['Refund Eva.', 'One moment.', 'W'.repeat(300)]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  expect(problems).toEqual([]);
});

test.skipIf(noChromium)('useRun works in a browser that has nothing newer than ES2022', async () => {
  const { page, problems } = await open({ url: 'about:blank' });
  await makeOlder(page, 2022);
  await page.goto(chatOf([refundCall, { content: 'Done.', paceMs: 10 }]));
  await shows(page, 'idle');
  await said(page, 'Send', 'Refund Eva.');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await shows(page, 'answered · COMPLETION');
  expect(await page.evaluate(() => 'withResolvers' in Promise || 'findLast' in Array.prototype)).toBe(false);
  expect(await texts(page)).toEqual(['Refund Eva.', 'One moment.', 'Done.']);
  expect(problems.filter((problem) => !problem.startsWith('request to'))).toEqual([]);
});
