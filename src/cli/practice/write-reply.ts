import type { MessageToolCall } from '../../actors/model.ts';
import { isJsonObject, type Json } from '../../json/json.ts';
import type { PracticeDecision, PracticeCall, Scene, PracticeRequest } from './scene.ts';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

/** What a reply consists of, before it is put on the wire. */
export interface RenderedReply {
  readonly content: string;
  readonly reasoning: string;
  /** Their arguments are text, so that they can be wrong. */
  readonly calls: readonly MessageToolCall[];
  readonly finishReason: 'stop' | 'tool_calls' | 'length';
}

/** Puts a decision into the form that was asked for: native tool calls, or the JSON envelope as text. */
export function renderReply(decision: PracticeDecision, scene: Scene): RenderedReply {
  return scene.native || scene.tools.length === 0 ? renderNative(decision, scene) : renderEnvelope(decision, scene);
}

function renderNative(decision: PracticeDecision, scene: Scene): RenderedReply {
  switch (decision.kind) {
    case 'answer':
      return { content: decision.text, reasoning: '', calls: [], finishReason: 'stop' };
    case 'calls':
      return callsOf(decision.thought, decision.calls, scene);
    case 'plan': {
      const planner = scene.tools.find((tool) => tool.name === 'make_plan');
      // Without a way to hand in a plan its steps are asked for all at once.
      if (planner === undefined) return callsOf(decision.thought, decision.steps, scene);
      const properties = isJsonObject(planner.schema['properties']) ? planner.schema['properties'] : {};
      const list = Object.entries(properties).find(
        ([, value]) => isJsonObject(value) && value['type'] === 'array',
      )?.[0];
      const call = { tool: planner.name, args: { [list ?? 'plan']: planOf(decision.steps) } };
      return callsOf(decision.thought, [call], scene);
    }
  }
}

function callsOf(thought: string, calls: readonly PracticeCall[], scene: Scene): RenderedReply {
  const rendered = calls.map(({ tool, args }, at) => ({
    id: `call_${String(scene.turn)}_${String(at)}`,
    name: tool,
    arguments: JSON.stringify(args),
  }));
  return { content: thought, reasoning: '', calls: rendered, finishReason: 'tool_calls' };
}

/** An envelope holds one call: the others come in the turns after. */
function renderEnvelope(decision: PracticeDecision, scene: Scene): RenderedReply {
  const content = JSON.stringify(envelopeOf(decision, scene));
  return { content, reasoning: '', calls: [], finishReason: 'stop' };
}

function envelopeOf(decision: PracticeDecision, scene: Scene): Json {
  switch (decision.kind) {
    case 'answer':
      return { thought: 'I can answer now.', answer: decision.text };
    case 'plan':
      return { thought: decision.thought, goal: scene.question, plan: planOf(decision.steps) };
    case 'calls': {
      const call = decision.calls[0];
      return { thought: decision.thought, goal: scene.question, tool: call?.tool ?? '', tool_args: call?.args ?? {} };
    }
  }
}

function planOf(steps: readonly PracticeCall[]): Json {
  return steps.map(({ tool, args }) => ({ tool, tool_args: args }));
}

/** The name under which the practice model is listed. It is not an LLM. */
export const PRACTICE_MODEL = 'signalbox-practice';

/** How to send a reply. */
interface Sending {
  readonly request: PracticeRequest;
  /** Milliseconds before the first piece and between any two. */
  readonly paceMs: number;
  /** Break off in the middle. */
  readonly hangUp: boolean;
}

/** Sends a reply as Chat Completions: a stream of events where one was asked for, else one JSON document. */
export async function writeReply(response: ServerResponse, reply: RenderedReply, sending: Sending): Promise<void> {
  const pieces = sending.request.stream ? streamPieces(reply, sending.request) : [wholePiece(reply, sending.request)];
  const type = sending.request.stream ? 'text/event-stream' : 'application/json';
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' });
  const sent = sending.hangUp ? pieces.slice(0, pieces.length >> 1) : pieces;
  for (const piece of sent) {
    if (sending.paceMs > 0) await wait(sending.paceMs);
    if (response.destroyed) return;
    response.write(piece);
  }
  // What was written before the connection breaks must be flushed first.
  if (sending.hangUp) response.write('\n', () => response.destroy());
  else response.end();
}

function wholePiece(reply: RenderedReply, request: PracticeRequest): string {
  const message = {
    role: 'assistant',
    content: reply.content === '' ? null : reply.content,
    ...(reply.reasoning === '' ? {} : { reasoning_content: reply.reasoning }),
    ...(reply.calls.length === 0 ? {} : { tool_calls: reply.calls.map(wireCall) }),
  };
  const choices = [{ index: 0, message, finish_reason: reply.finishReason }];
  return JSON.stringify({ ...head('chat.completion'), choices, usage: usageOf(reply, request) });
}

function streamPieces(reply: RenderedReply, request: PracticeRequest): readonly string[] {
  const chunk = (delta: unknown, finish_reason: string | null = null) =>
    event({ ...head('chat.completion.chunk'), choices: [{ index: 0, delta, finish_reason }] });
  return [
    chunk({ role: 'assistant', content: '' }),
    ...words(reply.reasoning).map((text) => chunk({ reasoning_content: text })),
    ...words(reply.content).map((text) => chunk({ content: text })),
    ...reply.calls.flatMap((call, index) => [
      chunk({ tool_calls: [{ ...wireCall(call), index, function: { name: call.name, arguments: '' } }] }),
      ...words(call.arguments).map((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]),
    chunk({}, reply.finishReason),
    ...(request.includeUsage
      ? [event({ ...head('chat.completion.chunk'), choices: [], usage: usageOf(reply, request) })]
      : []),
    'data: [DONE]\n\n',
  ];
}

function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function head(object: string) {
  return { id: 'chatcmpl-practice', object, created: 0, model: PRACTICE_MODEL };
}

function wireCall({ id, name, arguments: args }: RenderedReply['calls'][number]) {
  return { id, type: 'function', function: { name, arguments: args } };
}

/** Counted as models do roughly: four characters a token. */
function usageOf(reply: RenderedReply, request: PracticeRequest) {
  const prompt_tokens = tokensIn(JSON.stringify(request.messages)) + tokensIn(JSON.stringify(request.tools));
  const completion_tokens = tokensIn(
    reply.reasoning + reply.content + reply.calls.map((call) => call.name + call.arguments).join(''),
  );
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

function tokensIn(text: string): number {
  return Math.ceil(text.length / 4);
}

function words(text: string): readonly string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
}

/** Makes a reply wrong in one way. */
type Mistake = (reply: RenderedReply, scene: Scene) => RenderedReply;

const inCalls =
  (change: (call: MessageToolCall) => MessageToolCall): Mistake =>
  (reply) => ({ ...reply, calls: reply.calls.map(change) });

/** `{ "city": "Austin" }` as small models write it: single quotes, a comma too many. */
const breakJson = (text: string): string => text.replaceAll('"', "'").replace(/\}$/, ',}');

/** Mistakes made in the first reply to a question, and no more once the other side has complained. */
const FIRST_REPLY: Readonly<Record<string, Mistake>> = {
  'broken-json': (reply, scene) =>
    scene.native
      ? inCalls((call) => ({ ...call, arguments: breakJson(call.arguments) }))(reply, scene)
      : { ...reply, content: breakJson(reply.content) },
  truncated: (reply, scene) => ({
    ...inCalls((call) => ({ ...call, arguments: half(call.arguments) }))(reply, scene),
    content: reply.calls.length > 0 ? reply.content : half(reply.content),
    finishReason: 'length',
  }),
  'wrong-tool': (reply, scene) =>
    scene.native
      ? inCalls((call) => ({ ...call, name: 'look_around' }))(reply, scene)
      : { ...reply, content: reply.content.replace(/"tool":"[^"]*"/, '"tool":"look_around"') },
  'wrong-arguments': (reply, scene) =>
    scene.native
      ? inCalls((call) => ({ ...call, arguments: '{"the_thing":true}' }))(reply, scene)
      : { ...reply, content: reply.content.replace(/"tool_args":\{[^}]*\}/, '"tool_args":{"the_thing":true}') },
  empty: (reply) => ({ ...reply, content: '', calls: [], finishReason: 'stop' }),
  'text-call': (reply) => ({
    ...reply,
    content: reply.calls
      .map((call) => `<tool_call>\n{"name": "${call.name}", "arguments": ${call.arguments}}\n</tool_call>`)
      .join('\n'),
    calls: [],
    finishReason: 'stop',
  }),
  prose: (reply, scene) =>
    scene.native
      ? reply
      : { ...reply, content: `Sure! Here is what I will do:\n\n\`\`\`json\n${reply.content}\n\`\`\`\nLet me know!` },
};

/** Makes the mistakes that the question asks for. */
export function makeMistakes(reply: RenderedReply, scene: Scene): RenderedReply {
  const thinking = scene.mistakes.includes('reasoning')
    ? { ...reply, reasoning: `The user asks: "${scene.question}" Let me think about it.` }
    : reply;
  if (scene.turn > 0) return thinking;
  return scene.mistakes.reduce((wrong, name) => FIRST_REPLY[name]?.(wrong, scene) ?? wrong, thinking);
}

/** What goes wrong with HTTP before there is a reply. */
export type Outage =
  | {
      readonly kind: 'error';
      readonly status: number;
      readonly message: string;
      readonly param?: string;
      readonly retryAfterMs?: number;
    }
  | { readonly kind: 'hang-up' };

/** Outages end with the second try; refusals of tools stay. */
export function outageFor(scene: Scene, isFirstTry: boolean): Outage | undefined {
  const asks = (name: string) => scene.mistakes.includes(name);
  if (asks('no-tools') && scene.native) {
    return {
      kind: 'error',
      status: 400,
      message: 'signalbox-practice takes no tools here (practice:no-tools)',
      param: 'tools',
    };
  }
  if (!isFirstTry) return undefined;
  if (asks('error-500')) return { kind: 'error', status: 500, message: 'something broke (practice:error-500)' };
  if (asks('rate-limit')) {
    return { kind: 'error', status: 429, message: 'too many requests (practice:rate-limit)', retryAfterMs: 50 };
  }
  return asks('hang-up') ? { kind: 'hang-up' } : undefined;
}

function half(text: string): string {
  return text.slice(0, Math.ceil(text.length / 2));
}
