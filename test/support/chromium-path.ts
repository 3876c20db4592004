import { existsSync } from 'node:fs';

/** First the one without windows: the same engine for half the CPU. */
const PATHS = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Where Chromium is, for tests and scripts; undefined where there is none. The variable CHROMIUM names another. */
export const chromiumPath = PATHS.find((path) => path !== '' && existsSync(path));
