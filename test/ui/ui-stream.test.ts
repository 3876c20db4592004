import { uiMessageChunkSchema } from 'ai';
import { expect, test } from 'vitest';
import { UiStreamFold } from '../../src/ui/ai-sdk/ui-stream-fold.ts';
import { uiStream } from '../../src/ui/index.ts';
import { RECORDINGS, committed, groupsOf, messageOf, streamIn } from './recorded-groups.ts';

async function valid(chunk: unknown): Promise<boolean> {
  const checked = await uiMessageChunkSchema().validate?.(chunk);
  return checked?.success === true;
}

test.each(RECORDINGS)('%s as the AI SDK receives it', async (file) => {
  const groups = groupsOf(committed(file));
  const text = streamIn(groups, new UiStreamFold());
  await expect(text).toMatchFileSnapshot(`golden/${file.replace('.jsonl', '')}.ui.sse`);
  const chunks = uiStream(groups.flatMap(({ events }) => events));
  expect(text.replaceAll(/^id: .*\n/gm, '')).toBe(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''));
  for (const chunk of chunks) expect([chunk.type, await valid(chunk)]).toEqual([chunk.type, true]);
  const message = await messageOf(chunks);
  const unfinished = message?.parts.filter(
    (part) => 'state' in part && !/^(?:done|output-.*)$/.test(part.state ?? 'done'),
  );
  expect(unfinished).toEqual([]);
  expect(message?.id).toBe(committed(file).head.runId);
});

test('an approved call, a denied one and the answer are parts of one message', async () => {
  const message = await messageOf(uiStream(groupsOf(committed('approval.jsonl')).flatMap(({ events }) => events)));
  const parts = message?.parts.filter(({ type }) => type.startsWith('tool-')) ?? [];
  expect(parts).toMatchObject([
    {
      type: 'tool-pay',
      state: 'output-available',
      input: { to: 'printer' },
      output: 'paid 40 to printer',
      approval: { approved: true },
    },
    { type: 'tool-pay', state: 'output-denied', input: { to: 'casino' }, approval: { approved: false } },
  ]);
  expect(message?.parts.at(-1)).toMatchObject({ type: 'text', text: 'The printer is paid; the casino was refused.' });
});

test('a call that is denied without a question says why, and who denied it', async () => {
  const message = await messageOf(uiStream(groupsOf(committed('loop.jsonl')).flatMap(({ events }) => events)));
  const denied = message?.parts.filter((part) => 'state' in part && part.state === 'output-denied');
  const reason = "Tool 'get_forecast' was not run: this call has been repeated too often";
  expect(denied).toMatchObject([{ approval: { isAutomatic: true, approved: false, reason } }]);
});
