import type { OutputHandler } from '../../src/output/output-handler.ts';

/** A handler that has every method and notes each call. */
export function recordingHandler(): {
  readonly handler: OutputHandler;
  readonly calls: readonly (readonly [string, ...unknown[]])[];
} {
  const calls: (readonly [string, ...unknown[]])[] = [];
  const handler: OutputHandler = new Proxy(
    {},
    {
      get: (_target, name) =>
        name === 'wants' ? undefined : (...args: readonly unknown[]) => void calls.push([String(name), ...args]),
    },
  );
  return { handler, calls };
}
