import './vitest.config.ts'; // Its processes keep what they compile, too.
import { defineConfig } from 'vitest/config';

// Tests that judge by the clock, because somebody else's suite does: alone, one after the other. `npm run test:conformance`.
export default defineConfig({
  test: { include: ['test/**/*.quiet.ts'], fileParallelism: false, testTimeout: 60_000 },
});
