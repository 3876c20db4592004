import { type Browser, type Page, chromium } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type Inspector, createInspector } from '../../src/inspector/create-inspector.ts';
import { chromiumPath as executablePath } from '../support/chromium-path.ts';
import { builtPage } from './built-page.ts';

if (executablePath === undefined)
  console.warn(
    '\n*** NO CHROMIUM: the tests of the inspector in a browser are SKIPPED. Install it, or set CHROMIUM to its path. ***\n',
  );

/** True where no browser is to be had: the tests of the page are then skipped. */
export const noChromium = executablePath === undefined;

/** What the tests of one file share. */
export interface Stage {
  readonly inspector: () => Inspector;
  /** Opens the inspector's page, or another address, in a window of its own. Everything that goes wrong in it is in `problems`. */
  open(view?: View): Promise<Opened>;
}

interface View {
  readonly url?: string;
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'dark' | 'light';
  /** Whether things move, as they do where nobody asked for less of it. Default false: it costs CPU. */
  readonly moves?: boolean;
}

/** A page that is open. */
export interface Opened {
  readonly page: Page;
  /** Errors, refusals of the content security policy, and requests to anywhere else. */
  readonly problems: readonly string[];
}

/** One Chromium for all files that a worker runs; it ends with the worker. */
let launched: Promise<Browser> | null = null;

/** Chromium, and an inspector unless the file shows pages of its own, for its tests; each test gets windows of its own. */
export function stage(shows: 'inspector' | 'others' = 'inspector'): Stage {
  let browser: Browser | null = null;
  let inspector: Inspector | null = null;
  const close: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    if (executablePath === undefined) return;
    if (shows === 'inspector') inspector = await createInspector({ page: await builtPage() });
    browser = await (launched ??= chromium.launch({ executablePath, args: FLAGS, handleSIGHUP: false }));
  }, 120_000);
  afterEach(async () => {
    for (const one of close.splice(0)) await one();
  });
  afterAll(async () => {
    await inspector?.close();
  });

  const started = (): Inspector => {
    if (inspector === null) throw new Error('The inspector is not started yet.');
    return inspector;
  };
  return {
    inspector: started,
    open: async ({ url = started().url, width = 1280, height = 800, scheme = 'dark', moves = false } = {}) => {
      if (browser === null) throw new Error('The browser is not started yet.');
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: scheme,
        reducedMotion: moves ? 'no-preference' : 'reduce',
      });
      close.push(() => context.close());
      // As long as a test may take at most is none of its business: on a busy machine everything comes later.
      context.setDefaultTimeout(45_000);
      const page = await context.newPage();
      const problems: string[] = [];
      page.on('pageerror', ({ message }) => problems.push(message));
      page.on('console', (message) => {
        if (message.type() === 'error') problems.push(message.text());
      });
      page.on('dialog', (dialog) => {
        problems.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('request', (request) => {
        const { origin, protocol } = new URL(request.url());
        if (origin !== new URL(url).origin && protocol !== 'data:') problems.push(`request to ${request.url()}`);
      });
      await page.goto(url);
      return { page, problems };
    },
  };
}

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  // The pages are of tests that do not fear each other: a process for each costs a tenth of the whole.
  '--renderer-process-limit=1',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
