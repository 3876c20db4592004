import { expect, test } from 'vitest';
import { draftOutcome, forkDraft } from '../../../src/inspector/page/state/fork-draft.ts';

const place = { session: 's', entry: 3 };
const reply = (toolCalls: readonly object[]) =>
  draftOutcome(
    forkDraft('callLlm', place, { ok: true, value: { content: 'Hm.', toolCalls: [...toolCalls] as never } }),
  );

test('a reply that is not edited says what is recorded, ids of many digits as the run read them', () => {
  expect(reply([{ name: 'pay', arguments: '{"id":9007199254740993,"sum":12.5,"to":"9007199254740993"}' }])).toEqual({
    ok: true,
    value: {
      content: 'Hm.',
      toolCalls: [{ name: 'pay', arguments: { id: '9007199254740993', sum: 12.5, to: '9007199254740993' } }],
    },
  });
  expect(reply([{ name: 'pay', arguments: { id: 7 } }, { name: 'look' }])).toMatchObject({
    value: {
      toolCalls: [
        { name: 'pay', arguments: { id: 7 } },
        { name: 'look', arguments: {} },
      ],
    },
  });
});

test('a result is sent as it is written, or not at all', () => {
  const draft = forkDraft('callTool', place, { ok: true, value: { status: 'success', data: { id: 1 } } });
  if (draft.leaf !== 'callTool') throw new Error('It is the draft of a result.');
  expect(draftOutcome(draft)).toEqual({ ok: true, value: { status: 'success', data: { id: 1 } } });
  expect(draftOutcome({ ...draft, json: '{"id": 9007199254740992}' })).toMatchObject({ ok: true });
  for (const json of ['{"id": 9007199254740993}', '{"id": 1e999}', '{"id": }'])
    expect(draftOutcome({ ...draft, json })).toBeNull();
});
