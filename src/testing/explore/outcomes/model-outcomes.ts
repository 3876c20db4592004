import { type Json, type JsonObject, isJsonObject } from '../../../json/json.ts';
import { type KnownTool, type LeafScene, type Representative, fails, wrongArguments } from './outcome.ts';

/** A call as a model would write it. Text arguments are what it wrote, whether they can be read or not. */
interface ModelCall {
  readonly name: string;
  readonly arguments: Json;
}

/**
 * What a model can do, one of each kind that the machines distinguish: an answer; calls, right and wrong, of each tool;
 * two at once; plans; nothing usable; and each way in which a request fails.
 */
export function modelOutcomes(scene: LeafScene): readonly Representative[] {
  const native = isNative(scene.effect.request);
  const say = native ? nativeReplies(scene.tokens) : envelopeReplies(scene.tokens);
  if (scene.again) return onceMore(scene, say);
  return [
    say.answers,
    ...answersOf(scene, say),
    ...scene.tools.flatMap((tool) => callsOf(tool, scene, say)),
    say.calls('calls a tool that does not exist', [{ name: 'no_such_tool', arguments: {} }]),
    ...batchesOf(scene, say),
    ...plansOf(scene, say),
    say.reply('says nothing', { content: '' }),
    say.reply('answers, cut off by the length limit', { content: 'The answer is qui', finishReason: 'length' }),
    ...withheld(scene, say),
    ...failures(scene),
  ];
}

function onceMore(scene: LeafScene, say: Speaker): readonly Representative[] {
  const [call] = callables(scene);
  return [
    say.answers,
    ...answersOf(scene, say).slice(0, 1),
    ...(call === undefined ? [] : [say.calls(`calls ${call.name}`, [call])]),
    say.reply('says nothing', { content: '' }),
    ...failures(scene),
  ];
}

/** The possible outcomes for an answer with a schema: it fits, does not fit, is cut off, or comes beside a call. */
function answersOf(scene: LeafScene, say: Speaker): readonly Representative[] {
  const [tool] = scene.output?.tools ?? [];
  if (scene.output === null || tool === undefined) return [];
  const { name, inputSchema } = tool.tool;
  const valid = scene.argumentsFor({ name, inputSchema, usable: true });
  if (valid === undefined) return [];
  const wrong = wrongArguments(inputSchema, valid);
  const value = tool.wraps && isJsonObject(valid) ? (valid.value ?? null) : valid;
  const [call] = callables(scene);
  const byTool = scene.output.way === 'tool';
  const give = (label: string, args: Json): Representative =>
    say.answer(label, byTool ? { name, arguments: args } : null, args);
  return [
    byTool ? give('gives the answer', valid) : say.answer('gives the answer', null, value),
    ...(wrong === undefined ? [] : [give('gives an answer that does not fit', wrong)]),
    byTool
      ? say.cut('gives the answer, cut off', name)
      : say.reply('gives the answer, cut off', { content: '{"val', finishReason: 'length' }),
    ...(byTool && call !== undefined
      ? [say.calls(`calls ${call.name} and gives the answer`, [call, { name, arguments: valid }])]
      : []),
  ];
}

function callsOf(tool: KnownTool, scene: LeafScene, say: Speaker): readonly Representative[] {
  const valid = scene.argumentsFor(tool);
  if (valid === undefined) return [say.cut(`calls ${tool.name} with arguments cut off`, tool.name)];
  const wrong = wrongArguments(tool.inputSchema, valid);
  return [
    say.calls(`calls ${tool.name}`, [{ name: tool.name, arguments: valid }]),
    ...(wrong === undefined
      ? []
      : [say.calls(`calls ${tool.name} with wrong arguments`, [{ name: tool.name, arguments: wrong }])]),
    say.cut(`calls ${tool.name} with arguments cut off`, tool.name),
  ];
}

/** Two calls in one reply: of the first two tools that can be called, and of one tool twice. */
function batchesOf(scene: LeafScene, say: Speaker): readonly Representative[] {
  const [first, second] = callables(scene);
  if (first === undefined) return [];
  return [
    say.calls(`calls ${first.name} twice at once`, [first, first]),
    ...(second === undefined ? [] : [say.calls(`calls ${first.name} and ${second.name} at once`, [first, second])]),
  ];
}

function plansOf(scene: LeafScene, say: Speaker): readonly Representative[] {
  const [first, second = first] = callables(scene);
  if (first === undefined || second === undefined) return [];
  return [
    say.plan(`plans ${first.name}, ${second.name}`, [first, second].map(stepOf)),
    say.plan('plans without naming tools', [{ tool_args: {} }]),
  ];
}

/** What ends a run whatever stands beside it. */
function withheld(scene: LeafScene, say: Speaker): readonly Representative[] {
  const [call] = callables(scene);
  return [
    say.reply('refuses', { content: 'I cannot help with that.', finishReason: 'refusal' }),
    call === undefined
      ? say.reply('is stopped by a content filter', { content: 'The answer is', finishReason: 'content_filter' })
      : say.calls(`calls ${call.name}, and is stopped by a content filter`, [call], { finishReason: 'content_filter' }),
  ];
}

function callables(scene: LeafScene): readonly ModelCall[] {
  const usable = scene.tools.filter((tool) => tool.usable);
  return (usable.length > 0 ? usable : scene.tools).flatMap((tool) => {
    const args = scene.argumentsFor(tool);
    return args === undefined ? [] : [{ name: tool.name, arguments: args }];
  });
}

const stepOf = (call: ModelCall): JsonObject => ({ tool: call.name, tool_args: call.arguments });

function failures({ effect, first }: LeafScene): readonly Representative[] {
  const native = isNative(effect.request);
  return [
    ...(first === null
      ? []
      : [fails('has nothing left to spend', 'quota-exhausted', 'The account is empty.', { retryable: false })]),
    ...(first === true ? [fails('rests', 'circuit-open', 'It has failed a moment ago.', { retryable: true })] : []),
    fails('fails, and may be asked again', 'server-error', 'The server is out of order.', { retryable: true }),
    fails('fails for good', 'auth', 'The key is not valid.', { retryable: false }),
    fails('times out', 'timeout', 'The model sent nothing.', { retryable: true }),
    fails('asks for a pause', 'rate-limited', 'Too many requests.', { retryable: true, retryAfterMs: 5000 }),
    fails('asks for too long a pause', 'rate-limited', 'Too many requests.', {
      retryable: true,
      retryAfterMs: 600_000,
    }),
    fails('finds the conversation too long', 'context-overflow', 'The context is full.', { retryable: true }),
    fails('wrote a call that its server cannot read', 'malformed-tool-call', 'The call cannot be parsed.', {
      retryable: true,
    }),
    fails('is not asked by its content filter', 'content-filter', 'The request was filtered.', { retryable: false }),
    ...(native ? [fails('refuses tools', 'no-native-tools', 'Tools are not supported.', { retryable: true })] : []),
  ];
}

function isNative(request: Json): boolean {
  return isJsonObject(request) && request.toolCalling === 'native';
}

/** How a reply is worded in one of the two ways of calling tools. */
interface Speaker {
  reply(label: string, reply: JsonObject): Representative;
  readonly answers: Representative;
  /** An answer that has a schema, by its tool where there is one. */
  answer(label: string, call: ModelCall | null, value: Json): Representative;
  calls(label: string, calls: readonly ModelCall[], more?: JsonObject): Representative;
  cut(label: string, tool: string): Representative;
  plan(label: string, steps: readonly JsonObject[]): Representative;
}

const CUT = '{"argument": "val';

function replies(tokens: number | null): Speaker['reply'] {
  const usage = tokens === null ? {} : { usage: { inputTokens: tokens, outputTokens: 0, totalTokens: tokens } };
  return (label, reply) => ({ label, value: { ...reply, ...usage } });
}

function nativeReplies(tokens: number | null): Speaker {
  const reply = replies(tokens);
  const calls = (label: string, list: readonly ModelCall[], more: JsonObject = {}): Representative =>
    reply(label, { content: '', toolCalls: list.map((call) => ({ ...call })), ...more });
  return {
    reply,
    answers: reply('answers', { content: 'Done.' }),
    answer: (label, call, value) =>
      call === null ? reply(label, { content: JSON.stringify(value) }) : calls(label, [call]),
    calls,
    cut: (label, tool) => calls(label, [{ name: tool, arguments: CUT }], { finishReason: 'length' }),
    plan: (label, steps) => calls(label, [{ name: 'make_plan', arguments: { plan: steps } }]),
  };
}

function envelopeReplies(tokens: number | null): Speaker {
  const reply = replies(tokens);
  const envelope = (label: string, content: JsonObject): Representative =>
    reply(label, { content: JSON.stringify(content) });
  return {
    reply,
    answers: envelope('answers', { thought: '', answer: 'Done.' }),
    answer: (label, _call, value) => envelope(label, { thought: '', answer: value }),
    calls: (label, list, more = {}) =>
      reply(label, {
        content: list.map((call) => JSON.stringify({ tool: call.name, tool_args: call.arguments })).join('\n'),
        ...more,
      }),
    cut: (label, tool) =>
      reply(label, { content: `{"tool": ${JSON.stringify(tool)}, "tool_args": ${CUT}`, finishReason: 'length' }),
    plan: (label, steps) => envelope(label, { thought: '', plan: steps }),
  };
}
