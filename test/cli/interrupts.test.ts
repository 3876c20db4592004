import { expect, test } from 'vitest';
import { type StopSignal, takeInterrupts } from '../../src/cli/command/interrupts.ts';

test('a signal goes to whoever handles signals now, and one that came before goes to the next', async () => {
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
