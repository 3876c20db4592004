// Memory of 10 000 agents that wait for their users. Run with: node bench/idle-agents.ts
import { numberOf, runChild } from './harness/child.ts';
import { printTable } from './harness/figures.ts';

const COUNT = '10000';

const rows: (readonly string[])[] = [];
for (const [title, calls] of [
  ['made, never run', 'none'],
  ['after one answer', '0'],
  ['after one run of two tool calls', '2'],
] as const) {
  // Side by side they would disturb each other.
  const printed = await runChild('idle-agents', [COUNT, calls]);
  const heap = numberOf(printed, 'heapMB');
  rows.push([
    title,
    heap.toFixed(0),
    numberOf(printed, 'rssMB').toFixed(0),
    ((heap * 1000) / Number(COUNT)).toFixed(1),
  ]);
}
console.log(`\n${COUNT} idle agents, one tool each, model and tool shared\n`);
printTable(['', 'heap MB', 'resident MB', 'heap KB an agent'], rows);
