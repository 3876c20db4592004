import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type AgentOptions, type Model, createAgent } from '../../src/index.ts';
import { toResponse } from '../../src/inspector/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { agUi, runStream, uiStream } from '../../src/ui/index.ts';

const PIECES = 1500;

/** A model that writes one piece after the other, each once those before it were read. */
const talker: Model = {
  complete: async (_request, { onToken }) => {
    for (let n = 0; n < PIECES; n += 1) {
      onToken?.({ kind: 'text', text: 'word ' });
      await nextTurn();
    }
    return { content: 'word '.repeat(PIECES) };
  },
};

let compared = 0;

/** Counts how many characters of beginnings are compared one by one. */
beforeEach(() => {
  compared = 0;
  const { startsWith } = String.prototype;
  vi.spyOn(String.prototype, 'startsWith').mockImplementation(function count(this: string, beginning, at) {
    compared += beginning.length;
    return startsWith.call(this, beginning, at);
  });
});
afterEach(() => void vi.restoreAllMocks());

function talking(options: AgentOptions = {}) {
  const journal = memoryJournal();
  const agent = createAgent({ model: talker, silent: true, streaming: true, journal, ...options });
  onTestFinished(() => agent.close());
  return { agent, options: { journal, owner: 'ada' } };
}

const post = (body: object, query = ''): Request =>
  new Request(`http://x/${query}`, { method: 'POST', body: JSON.stringify(body) });

/** Each way to follow a run; gives what was shown. */
const FOLLOWED: Readonly<Record<string, () => Promise<string>>> = {
  toResponse: async () => toResponse(talking().agent.run('Talk.')).text(),
  'an output': async () => {
    let shown = '';
    const output = { streamToken: (text: string) => void (shown += text) };
    await talking({ output, silent: false }).agent.run('Talk.');
    return shown;
  },
  'the AI SDK': async () => {
    const { agent, options } = talking();
    const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Talk.' }] }];
    return (await uiStream.serve(agent, post({ id: 'c', messages }), options)).text();
  },
  'AG-UI': async () => {
    const { agent, options } = talking();
    const messages = [{ id: 'm', role: 'user', content: 'Talk.' }];
    return (await agUi.serve(agent, post({ threadId: 'c', runId: 'r', messages }), options)).text();
  },
  'a run store': async () => {
    const { agent, options } = talking();
    await runStream.serve(agent, post({ type: 'send', text: 'Talk.' }, '?id=c'), options);
    return (await runStream.serve(agent, new Request('http://x/?id=c'), options)).text();
  },
};

test.each(Object.entries(FOLLOWED))(
  'a long answer is sent to %s piece by piece, not compared at each',
  async (_, read) => {
    const shown = await read();
    // What it already has is not sent again with each piece.
    expect(shown.match(/word/g)?.length).toBeLessThan(6 * PIECES);
    expect(shown.match(/word/g)?.length).toBeGreaterThanOrEqual(PIECES);
    expect(compared).toBeLessThan(50 * PIECES);
  },
);
