import { createAgent } from 'signalbox';
import { toResponse } from 'signalbox/inspector';
import { memoryJournal } from 'signalbox/journal';
import { chatModel } from 'signalbox/models';
import { scriptedModel } from 'signalbox/testing';

export const dynamic = 'force-dynamic';
export const runtime = 'edge';

/** Two runs where Node is not: one whose model answers, and one whose model's server refuses to. */
export async function GET({ url }) {
  const options = { silent: true, journal: memoryJournal() };
  const refuses = chatModel({ baseURL: new URL('/none', url).href, apiKey: 'none', model: 'm' });
  const { error } = await createAgent({ ...options, model: refuses }).run('Hello');
  const { result } = await createAgent({ ...options, model: scriptedModel(['From the edge.']) }).run('Hello');
  return Response.json([result, error.code, toResponse.name]);
}
