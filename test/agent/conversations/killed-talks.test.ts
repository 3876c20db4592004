import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { openStore } from '../../journal/open-store.ts';
import { temporaryFolder } from '../../journal/temporary-folder.ts';
import { cases, seedOr } from '../../support/soak.ts';
import { talked } from './talking.ts';

const LIVES = cases(4, 25);
const CONVERSATIONS = Array.from({ length: cases(4, 10) }, (_, n) => `talk${n}`);
/** How long a process talks at most. */
const TALK_MS = cases(400, 900);

/** A seeded random number from 0 to 1. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test.concurrent.each(['file', 'sqlite'] as const)(
  'no message is lost or doubled while the processes of its conversation are killed at random: %s',
  async (kind) => {
    await using folder = await temporaryFolder();
    const place = join(folder.path, kind === 'file' ? 'runs' : 'runs.sqlite');
    const log = join(folder.path, 'accepted');
    const random = randomOf(seedOr(20261122));
    const talking = { kind, place, log, conversations: CONVERSATIONS };
    for (let life = 0; life < LIVES; life++) await talked({ ...talking, life, isLast: false }, random() * TALK_MS);
    await talked({ ...talking, life: LIVES, isLast: true }, null);

    const store = openStore(kind, place);
    const reader = createAgent({ model: scriptedModel([]), silent: true, journal: store, maxHistoryMessages: 0 });
    const accepted = new Set(existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
    const delivered: string[] = [];
    const returned: string[] = [];
    for (const id of CONVERSATIONS) {
      const conversation = reader.conversation(id);
      for (const { content, role } of await conversation.history) if (role === 'user') delivered.push(String(content));
      for (const { runId, state } of await conversation.runs()) {
        expect([runId, state]).toEqual([runId, 'ended']);
        const recording = await store.read(runId);
        const end = JSON.stringify(recording?.lines.at(-1));
        for (const [, sent = ''] of end.matchAll(/"id":"([^"]+)","text":"[^"]*","kind":"steer"/g)) returned.push(sent);
      }
    }
    const settled = [...delivered, ...returned].toSorted();
    expect(settled).toEqual([...new Set(settled)]);
    expect([...accepted].filter((id) => !settled.includes(id))).toEqual([]);
    expect(delivered.filter((text) => text.endsWith('-last'))).toHaveLength(CONVERSATIONS.length);
    expect(accepted.size).toBeGreaterThan(0);
    if (process.env['SIGNALBOX_SOAK'] !== undefined)
      console.log(
        `${kind}: ${delivered.length} delivered, ${returned.length} returned, ${accepted.size} known accepted`,
      );
  },
  3_600_000,
);
