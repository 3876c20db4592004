import { expect, onTestFinished, test } from 'vitest';
import { type StopSignal, takeInterrupts } from '../../src/cli/command/interrupts.ts';

/** Others in this process listen, too: a browser of an earlier file would end. */
function aloneWithSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const others = process.listeners(signal);
    process.removeAllListeners(signal);
    onTestFinished(() => {
      process.removeAllListeners(signal);
      for (const listener of others) process.on(signal, listener);
    });
  }
}

test('a signal goes to whoever handles signals now, and one that came before goes to the next', async () => {
  aloneWithSignals();
  const interrupts = takeInterrupts();
  const heard: string[] = [];
  const note = (who: string) => (signal: StopSignal) => void heard.push(`${who} ${signal}`);
  const unhandle = interrupts.handle(note('run'));
  process.emit('SIGHUP', 'SIGHUP');
  unhandle();
  process.emit('SIGHUP', 'SIGHUP');
  interrupts.handle(note('prompt'));
  await Promise.resolve();
  expect(heard).toEqual(['run SIGHUP', 'prompt SIGHUP']);
});
