import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import all from './vitest.config.ts';

// What needs no process and no real waiting: machines, parsing, recovery, tools, agents on scripted models. `npm run
// test:quick`, or with a part of a path, `npm run test:quick -- parsing`.
const ROOMS = ['actors', 'agent', 'machines', 'output', 'parsing', 'recovery', 'tools'];
const SLOW = [
  'agent/conversations/kept',
  'agent/conversations/killed-talks',
  'agent/conversations/random-talks',
  'agent/conversations/left-runs',
  'agent/embedded/persisted',
  'agent/endings/over-http',
  'agent/fallback-on-server',
  'agent/http-failures',
  'agent/kept-runs',
  'agent/late-readers',
  'agent/mcp-servers',
  'agent/misuse',
  'agent/over-http',
  'agent/parked/parked',
  'agent/requests/other-processes',
  'agent/secrets',
  'agent/sent-schemas',
  'agent/servers-own-words',
  'agent/streaming',
  'agent/unknown-options',
  'agent/unlisted-tools',
  'agent/upgrades',
  'machines/mutants',
];

export default defineConfig({
  ...all,
  test: {
    ...all.test,
    // None of them waits for others: more workers only load the sources once more.
    maxWorkers: availableParallelism(),
    include: ROOMS.map((room) => `test/${room}/**/*.test.ts`),
    exclude: [...SLOW.map((file) => `test/${file}.test.ts`), 'test/tools/security/*-{processes,pty,screen}.test.ts'],
  },
});
