import { defineConfig } from 'vitest/config';
import all from './vitest.config.ts';

// What needs no process and no real waiting: machines, parsing, recovery, tools, agents on scripted models. `npm run
// test:quick`, or with a part of a path, `npm run test:quick -- parsing`.
const ROOMS = ['actors', 'agent', 'machines', 'output', 'parsing', 'recovery', 'tools'];
const SLOW = [
  'agent/conversations/kept',
  'agent/conversations/killed-talks',
  'agent/conversations/random-talks',
  'agent/embedded/persisted',
  'agent/fallback-on-server',
  'agent/http-failures',
  'agent/kept-runs',
  'agent/mcp-servers',
  'agent/misuse',
  'agent/requests/other-processes',
  'agent/servers-own-words',
  'agent/unknown-options',
  'machines/mutants',
];

export default defineConfig({
  ...all,
  test: {
    ...all.test,
    include: ROOMS.map((room) => `test/${room}/**/*.test.ts`),
    exclude: [...SLOW.map((file) => `test/${file}.test.ts`), 'test/tools/security/*-{processes,pty,screen}.test.ts'],
  },
});
