import type { RenderedCall, RenderedReply } from './write-reply.ts';
import type { Scene } from './scene.ts';

/** Makes a reply wrong in one way. */
type Mistake = (reply: RenderedReply, scene: Scene) => RenderedReply;

const inCalls =
  (change: (call: RenderedCall) => RenderedCall): Mistake =>
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
