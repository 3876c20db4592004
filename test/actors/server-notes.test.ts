import { expect, test } from 'vitest';
import { serverNotes } from '../../src/actors/tool-call/call-tool.ts';
import type { JsonObject } from '../../src/json/json.ts';

test('a flood of progress becomes a few remarks, and no question is left out', () => {
  const notes: JsonObject[] = [];
  const { onProgress, onQuestion } = serverNotes((note) => notes.push(note));
  for (let progress = 0; progress < 1000; progress += 1) onProgress?.({ progress });
  expect(notes[0]).toEqual({ note: 'progress', progress: 0, total: null, message: null });
  expect(notes.length).toBeLessThan(20);
  const asked = { phase: 'asked', kind: 'elicitation', server: 's', message: 'Sure?' } as const;
  for (let at = 0; at < 3; at += 1) onQuestion?.(asked);
  expect(notes.slice(-3)).toEqual(Array.from({ length: 3 }, () => ({ note: 'question', ...asked })));
});
