import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { RequestBody, ScriptedCall, ScriptedReply } from './script.ts';

/** Sends a scripted reply as plain JSON or as a stream, as the request asks for. */
export function writeReply(response: ServerResponse, request: RequestBody, reply: ScriptedReply): void {
  if (request.stream === true && reply.noStream !== true) writeStream(response, request, reply);
  else writeWhole(response, request, reply);
}

function writeWhole(response: ServerResponse, request: RequestBody, reply: ScriptedReply): void {
  const message = {
    role: 'assistant',
    content: reply.content ?? null,
    ...(reply.reasoning === undefined ? {} : { reasoning_content: reply.reasoning }),
    ...(reply.refusal === undefined ? {} : { refusal: reply.refusal }),
    ...(reply.toolCalls === undefined ? {} : { tool_calls: reply.toolCalls.map(wireCall) }),
  };
  const choices = [{ index: 0, message, finish_reason: finishReason(reply) }];
  const text = JSON.stringify({ ...envelope(request, 'chat.completion'), choices, usage: usageOf(reply) });
  if (reply.breakOffAfter !== undefined) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(text.length) });
    response.write(text.slice(0, text.length >> 1), () => response.destroy());
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(text);
}

function writeStream(response: ServerResponse, request: RequestBody, reply: ScriptedReply): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const events = streamEvents(request, reply);
  const { breakOffAfter, stallAfter } = reply;
  const all = events.map((event) => `data: ${event}\n\n`);
  const text = all.slice(0, breakOffAfter ?? stallAfter);
  if (breakOffAfter !== undefined) response.write(text.join(''), () => response.destroy());
  else if (stallAfter !== undefined) {
    response.write(text.join(''));
    void reply.continues?.then(() => writePieces(response, [...all.slice(stallAfter), 'data: [DONE]\n\n']));
  } else if (reply.neverEnds === true) response.write([...text, 'data: [DONE]\n\n'].join(''));
  else if (reply.paceMs !== undefined) void writeSlowly(response, [...text, 'data: [DONE]\n\n'], reply.paceMs);
  else writePieces(response, [...text, 'data: [DONE]\n\n']);
}

/** Pieces leave one after the other, each in a write of its own. */
export function writePieces(response: ServerResponse, pieces: readonly string[]): void {
  for (const piece of pieces) response.write(piece);
  response.end();
}

async function writeSlowly(response: ServerResponse, pieces: readonly string[], paceMs: number): Promise<void> {
  for (const piece of pieces) {
    response.write(piece);
    await wait(paceMs);
  }
  response.end();
}

function streamEvents(request: RequestBody, reply: ScriptedReply): readonly string[] {
  const head = envelope(request, 'chat.completion.chunk');
  const chunk = (delta: unknown, finish_reason: string | null = null) =>
    JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] });
  const wantsUsage = isUsageAsked(request['stream_options']);
  return [
    chunk({ role: 'assistant', content: '' }),
    ...cut(reply.reasoning ?? '').map((text) => chunk({ reasoning_content: text })),
    ...cut(reply.content ?? '').map((text) => chunk({ content: text })),
    ...cut(reply.refusal ?? '').map((text) => chunk({ refusal: text })),
    ...(reply.toolCalls ?? []).flatMap((call, index) =>
      callEvents(call, index).map((entry) => chunk({ tool_calls: [entry] })),
    ),
    chunk({}, finishReason(reply)),
    ...(wantsUsage ? [JSON.stringify({ ...head, choices: [], usage: usageOf(reply) })] : []),
  ];
}

function callEvents(call: ScriptedCall, index: number): readonly unknown[] {
  const whole = wireCall(call, index);
  const pieces = cut(whole.function.arguments);
  const first = { ...whole, index, function: { name: call.name, arguments: '' } };
  return [first, ...pieces.map((text) => ({ index, function: { arguments: text } }))];
}

function wireCall(call: ScriptedCall, index: number) {
  const args = call.arguments ?? {};
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  return { id: call.id ?? `call_${String(index)}`, type: 'function', function: { name: call.name, arguments: text } };
}

function envelope(request: RequestBody, object: string) {
  return { id: 'chatcmpl-scripted', object, created: 0, model: request.model ?? 'scripted' };
}

function finishReason(reply: ScriptedReply): string {
  return reply.finishReason ?? (reply.toolCalls === undefined || reply.toolCalls.length === 0 ? 'stop' : 'tool_calls');
}

function usageOf(reply: ScriptedReply) {
  const { inputTokens, outputTokens } = reply.usage ?? { inputTokens: 12, outputTokens: 7 };
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}

function isUsageAsked(options: unknown): boolean {
  return (
    typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage === true
  );
}

/** Pieces of about a token's length. */
function cut(text: string): readonly string[] {
  return text.match(/[\s\S]{1,6}/g) ?? [];
}
