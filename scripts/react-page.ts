import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { type Browser, type Page, chromium } from 'playwright-core';
import { chromiumPath as executablePath } from '../test/support/chromium-path.ts';
import { freePort } from '../test/support/free-port.ts';
import { type ModelServer, startModelServer } from '../test/support/model-server.ts';

/** How long anything on the page may take. */
const PATIENCE_MS = 15_000;

/** The page of scripts/consumers/react, as a server serves it, and the model that it asks. */
interface Stage {
  readonly model: ModelServer;
  /** Lets the model answer what it was asked, and what it is asked from then on. */
  readonly answer: () => void;
  /** Effects of a component that is shown once: two in strict mode, which only React's development build has. */
  readonly starts: number;
}

/**
 * Drives the page of an application in Chromium, once from Vite's development server and once as Vite has built it. Throws
 * where the agent on it does not do what docs/agents.md says of `useActor`, or where there is no Chromium.
 */
export async function checkReact(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const browser = await startedBrowser();
  try {
    for (const [command, starts] of [
      ['serve', 2],
      ['preview', 1],
    ] as const)
      for (const check of [approvedBySend, approvedByHandle, refusedBySend, leftAndBack])
        // One after the other: they share a machine.
        await onStage({ browser, starts, command, folder, env }, check);
  } finally {
    await browser.close();
  }
}

/** A press of a button tells the actor. Until the model answers, the page shows that it is asked. */
async function approvedBySend(page: Page, { model, answer, starts }: Stage): Promise<void> {
  await shows(page, '#state', 'PLANNING.ASKING');
  await model.received(1);
  equal('starts of the component', await page.evaluate('seen.starts'), starts);
  equal('requests of all starts', model.requests.length, 1);
  answer();
  await shows(page, '#state', 'DIRECT_EXECUTION.RUNNING_CALLS');
  await shows(page, '.pending', 'pay');
  await page.click('#send');
  await isPaid(page, model);
  const states = await page.evaluate('[...seen.states].map((state) => state.split(".")[0])');
  equal('states', [...new Set(Array.isArray(states) ? states : [])], ['PLANNING', 'DIRECT_EXECUTION', 'COMPLETION']);
}

async function approvedByHandle(page: Page, { model, answer }: Stage): Promise<void> {
  answer();
  await shows(page, '.pending', 'pay');
  await page.click('#handle');
  await isPaid(page, model);
}

async function refusedBySend(page: Page, { model, answer }: Stage): Promise<void> {
  answer();
  await shows(page, '.pending', 'pay');
  await page.click('#refuse');
  await shows(page, '#answer', 'It is not paid.');
  equal('payments', await page.evaluate('seen.payments'), 0);
  equal('requests', model.requests.length, 2);
}

/** Who leaves lets the run go; who comes back finds it where it stood, and nothing is asked or paid again. */
async function leftAndBack(page: Page, { model, answer }: Stage): Promise<void> {
  answer();
  await shows(page, '.pending', 'pay');
  const run = await page.textContent('#run');
  await page.click('#leave');
  await page.waitForFunction('agent.pending().length === 0');
  await page.click('#back');
  await shows(page, '.pending', 'pay');
  equal('run', await page.textContent('#run'), run);
  equal('requests so far', model.requests.length, 1);
  equal('payments so far', await page.evaluate('seen.payments'), 0);
  await page.click('#send');
  await isPaid(page, model);
}

async function isPaid(page: Page, model: ModelServer): Promise<void> {
  await shows(page, '#answer', 'It is paid.');
  await shows(page, '#state', 'COMPLETION');
  equal('pending calls', await page.locator('.pending').count(), 0);
  equal('payments', await page.evaluate('seen.payments'), 1);
  equal('requests', model.requests.length, 2);
}

/** An application in a folder, how Vite serves it, and what to look at it with. */
interface Application extends Pick<Stage, 'starts'> {
  readonly browser: Browser;
  readonly command: 'serve' | 'preview';
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

async function onStage(
  { browser, starts, command, folder, env }: Application,
  check: (page: Page, stage: Stage) => Promise<void>,
): Promise<void> {
  const { promise: answered, resolve } = Promise.withResolvers<null>();
  await using model = await startModelServer(async ({ body }) => {
    await answered;
    const told = body.messages.at(-1);
    if (told?.role !== 'tool') return { toolCalls: [{ name: 'pay' }] };
    return String(told.content).includes('too much') ? 'It is not paid.' : 'It is paid.';
  });
  const port = await freePort();
  const args = [command, 'react', '--config', 'react/vite.config.js', '--host', '127.0.0.1', '--port', String(port)];
  const server = spawn(process.execPath, ['node_modules/vite/bin/vite.js', ...args], {
    cwd: folder,
    env: { ...env, MODEL_ORIGIN: model.origin },
    stdio: 'ignore',
  });
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const problems: string[] = [];
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  const url = `http://127.0.0.1:${String(port)}/`;
  try {
    await untilServed(url);
    await page.goto(url);
    await check(page, { model, starts, answer: () => resolve(null) });
    equal('problems of the page', problems, []);
  } catch (error) {
    throw new Error(`${command}, ${check.name}: ${String(error)}\n${problems.join('\n')}`, { cause: error });
  } finally {
    resolve(null);
    await page.close();
    server.kill();
    await once(server, 'exit');
  }
}

/** Opens a page whose agent answers in the browser, and throws where it does not, or the page has an error. */
export async function checkOwnAgent(url: string, expected: string): Promise<void> {
  const browser = await startedBrowser();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const problems: string[] = [];
    page.on('pageerror', ({ message }) => problems.push(message));
    await page.goto(url);
    await page.locator('#said', { hasText: 'messages' }).waitFor();
    equal('what the page says', await page.locator('#said').textContent(), expected);
    equal('problems of the page', problems, []);
  } finally {
    await browser.close();
  }
}

function startedBrowser(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('There is no Chromium: install it, or set CHROMIUM to its path.');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}

async function untilServed(url: string): Promise<void> {
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until;) {
    const answer = await fetch(url).catch(() => wait(100, null));
    if (answer?.ok === true) return;
  }
  throw new Error(`Vite does not serve ${url}.`);
}

/** Waits until the element has this text, and only this. */
async function shows(page: Page, selector: string, text: string): Promise<void> {
  await page
    .locator(selector)
    .filter({ hasText: new RegExp(`^${text}$`) })
    .waitFor();
}

function equal(what: string, found: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(found), JSON.stringify(expected)];
  if (is !== should) throw new Error(`${what}: ${is}, and not ${should}`);
}
