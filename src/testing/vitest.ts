import '../platform.ts';
import { expect } from 'vitest';
import { type RunMatchers, matchers } from './assertions.ts';

// What a setup file of vitest imports: it extends `expect`, and declares the matchers' types for every test file.
//
//   // in a file of vitest's `test.setupFiles`:
//   import 'signalbox/testing/vitest';
//
//   // in a test:
//   await expect(agent.run('What time is it?')).toEndWith('answer');
expect.extend(matchers);

declare module 'vitest' {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> extends RunMatchers<R, T> {}
}
