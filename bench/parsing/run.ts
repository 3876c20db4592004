/** Compares the parser with its peers in one run: exactness and time a text, and the time of a megabyte made to hurt. */
import { isDeepStrictEqual } from 'node:util';
import { ADVERSARIAL_FAMILIES } from '../../test/parsing/adversarial-families.ts';
import { parseReply, recoverJson } from '../../src/parsing/index.ts';
import { type Contender, contenders } from './contenders.ts';
import { type Workload, workloads } from './workloads.ts';

const ROUNDS = 7;
const ROUND_MS = 60;
const MEGABYTE = 1_000_000;

async function attempt({ recover }: Contender, text: string): Promise<unknown> {
  try {
    return await recover(text);
  } catch {
    return undefined;
  }
}

async function exactness(contender: Contender, { cases }: Workload): Promise<number> {
  let exact = 0;
  for (const { text, value } of cases) if (isDeepStrictEqual(await attempt(contender, text), value)) exact += 1;
  return exact / cases.length;
}

/** The best of several rounds, in microseconds a text: what other processes take away is not counted. */
async function microseconds({ recover }: Contender, { cases }: Workload): Promise<number> {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    let done = 0;
    const start = performance.now();
    while (performance.now() - start < ROUND_MS) {
      for (const { text } of cases) {
        try {
          const found = recover(text);
          if (found instanceof Promise) await found;
        } catch {
          // A peer that gives up is as fast as it gives up.
        }
      }
      done += cases.length;
    }
    best = Math.min(best, ((performance.now() - start) / done) * 1_000);
  }
  return best;
}

const peers = await contenders();
for (const workload of workloads()) {
  const rows: Record<string, { readonly 'exact %': string; readonly 'µs a text': string }> = {};
  for (const peer of peers) {
    const exact = await exactness(peer, workload);
    rows[peer.name] = {
      'exact %': (exact * 100).toFixed(0),
      'µs a text': (await microseconds(peer, workload)).toFixed(1),
    };
  }
  console.log(`\n${workload.name}`);
  console.table(rows);
}

const slowest = ADVERSARIAL_FAMILIES.map(({ name, make }) => {
  const text = make(MEGABYTE);
  const start = performance.now();
  parseReply(text, { tools: ['add'] });
  const middle = performance.now();
  recoverJson(text);
  return {
    name,
    'parseReply ms': Math.round(middle - start),
    'recoverJson ms': Math.round(performance.now() - middle),
  };
}).toSorted((a, b) => b['parseReply ms'] - a['parseReply ms']);
console.log(`\nA megabyte of each of ${slowest.length} families; the slowest:`);
console.table(slowest.slice(0, 8));
