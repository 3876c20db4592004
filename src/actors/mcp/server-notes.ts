import type { LeafIo } from '../leaf.ts';
import type { McpCalls, McpQuestion } from './mcp-calls.ts';

/** Word of progress that comes faster than this is left out: a server may send thousands a second. */
const PROGRESS_MS = 100;

/** Listens to what a server says during a call and makes remarks of it: how far it is, what it asks, what it was told. */
export function serverNotes(
  note: LeafIo['note'],
): Pick<Parameters<McpCalls['callTool']>[3], 'onProgress' | 'onQuestion'> {
  let told = -Infinity;
  return {
    onProgress: ({ progress, total, message }) => {
      const now = performance.now();
      if (now - told < PROGRESS_MS) return;
      told = now;
      note({ note: 'progress', progress, total: total ?? null, message: message ?? null });
    },
    onQuestion: (question) => note({ note: 'question', ...plain(question) }),
  };
}

function plain(question: McpQuestion) {
  if (question.phase === 'asked') return question;
  return { ...question, usage: question.usage === null ? null : { ...question.usage } };
}
