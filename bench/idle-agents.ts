// Memory of 10 000 agents that wait for their users, and of 2,000 that wait for their model. Run with: node bench/idle-agents.ts
import { numberOf, runChild } from './harness/child.ts';
import { printTable } from './harness/figures.ts';

const rows: (readonly string[])[] = [];
for (const [title, calls, count] of [
  ['made, never run', 'none', '10000'],
  ['after one answer', '0', '10000'],
  ['after one run of two tool calls', '2', '10000'],
  ['in its first request', 'running', '2000'],
] as const) {
  // Side by side they would disturb each other.
  const printed = await runChild('idle-agents', [count, calls]);
  const heap = numberOf(printed, 'heapMB');
  rows.push([
    title,
    count,
    heap.toFixed(0),
    numberOf(printed, 'rssMB').toFixed(0),
    ((heap * 1000) / Number(count)).toFixed(1),
  ]);
}
console.log('\nAgents of one tool each, model and tool shared\n');
printTable(['', 'agents', 'heap MB', 'resident MB', 'heap KB an agent'], rows);
