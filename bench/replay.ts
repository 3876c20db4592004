// Recorded steps that are replayed in a second. Run with: node bench/replay.ts
import { numberOf, runChild } from './harness/child.ts';
import { printTable } from './harness/figures.ts';

const rows: (readonly string[])[] = [];
for (const calls of ['10', '200']) {
  // Side by side they would disturb each other.
  const printed = await runChild('replay', [calls]);
  const cells = ['effects', 'kilobytes', 'replayRate', 'transitionsRate'].map((name) =>
    numberOf(printed, name).toFixed(0),
  );
  rows.push([`${calls} tool calls and an answer`, ...cells]);
}
console.log('\nReplay: recorded effects (model turns and tool calls) a second, reading the recording included\n');
printTable(['', 'effects', 'KB', 'replay(), effects/s', 'transitions(), effects/s'], rows);
