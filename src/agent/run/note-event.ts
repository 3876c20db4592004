import type { Effect } from '../../actors/journal.ts';
import type { Usage } from '../../actors/model.ts';
import type { RunEventBody } from '../../machines/events/run-events.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';

/**
 * The RunEvent that a remark of the leaf that calls tools stands for; null for all other remarks. It is no part of what is
 * replayed: a replay calls no server.
 */
export function eventOfNote({ request }: Effect, note: JsonObject): RunEventBody | null {
  if (!isJsonObject(request)) return null;
  const call = { callId: textOf(request.callId), tool: textOf(request.tool) };
  if (note.note === 'progress' && typeof note.progress === 'number') {
    const { progress, total, message } = note;
    return {
      type: 'tool.progress',
      ...call,
      progress,
      total: typeof total === 'number' ? total : null,
      message: typeof message === 'string' ? message : null,
    };
  }
  return note.note === 'question' ? questionOf(call, note) : null;
}

function questionOf(call: { readonly callId: string; readonly tool: string }, note: JsonObject): RunEventBody {
  const { phase, message, url, origin, action, content = {}, usage } = note;
  const kind = note.kind === 'sampling' ? 'sampling' : 'elicitation';
  const asked = { ...call, server: textOf(note.server), kind } as const;
  if (phase === 'asked') {
    const page = typeof url === 'string' && typeof origin === 'string' ? { url, origin } : {};
    return { type: 'question.asked', ...asked, message: textOf(message), ...page };
  }
  return {
    type: 'question.answered',
    ...asked,
    action: action === 'accept' || action === 'decline' ? action : 'cancel',
    content,
    usage: usageOf(usage),
  };
}

function usageOf(usage: Json | undefined): Usage | null {
  if (!isJsonObject(usage)) return null;
  const { inputTokens, outputTokens, totalTokens } = usage;
  if (typeof inputTokens !== 'number' || typeof outputTokens !== 'number' || typeof totalTokens !== 'number')
    return null;
  return { inputTokens, outputTokens, totalTokens };
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
