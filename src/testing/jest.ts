import '../platform.ts';
import { type RunMatchers, matchers } from './assertions.ts';

// What a setup file of jest imports (`setupFilesAfterEnv`): it extends the global `expect`, and declares the matchers' types
// beside those of @types/jest.
const expectation: unknown = Reflect.get(globalThis, 'expect');
const extend: unknown = typeof expectation === 'function' ? Reflect.get(expectation, 'extend') : undefined;
if (typeof extend !== 'function')
  throw new Error(
    'signalbox/testing/jest found no global expect. Import it in a file of setupFilesAfterEnv, or without jest globals call expect.extend(matchers).',
  );
Reflect.apply(extend, expectation, [matchers]);

declare global {
  namespace jest {
    interface Matchers<R, T> extends RunMatchers<R, T> {}
  }
}
