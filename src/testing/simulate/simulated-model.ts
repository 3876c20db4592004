import { type Model, type ModelIo, type ModelReply, type ModelRequest, ModelError } from '../../actors/model.ts';
import { isList } from '../../json/depth.ts';
import { type Json, isJsonObject, parsedText, defined } from '../../json/json.ts';
import type { Draws } from './draws.ts';
import type { FaultName, FaultRates } from './simulated-faults.ts';

/** What a model says that has nothing more to say. */
const DONE: ModelReply = { content: 'Done.' };

/** Makes a model that gets a share of its replies wrong; without a model it calls whatever is offered. */
export type HostileMaker = (options: { readonly seed: number; readonly rate: number; readonly model?: Model }) => Model;

/**
 * A model that answers as another one does, with faults drawn for each request. A request that was answered before is
 * answered the same: after a crash it is asked again.
 */
export function faultyModel(base: Model, draws: Draws, rates: FaultRates, hostile: HostileMaker): Model {
  const answered: { readonly messages: ModelRequest['messages']; readonly reply: ModelReply }[] = [];
  let count = 0;
  const next = async (request: ModelRequest, io: ModelIo): Promise<string> => {
    while (draws.leavesOut(`request ${++count}`)) await passedOver(base, request, io);
    draws.replies.set(count, 0);
    return `${count}`;
  };
  let spoilt: Model | undefined;
  const answer = async (request: ModelRequest, io: ModelIo): Promise<ModelReply> => {
    const place = await next(request, io);
    const is = (name: FaultName, says: string): boolean =>
      draws.happens(name, place, rates[name], `request ${place}: ${says}`);
    if (is('model.busy', '429 with Retry-After'))
      throw new ModelError('rate-limited', 'too many requests (simulated)', { status: 429, retryAfterMs: 1500 });
    if (is('model.error', 'status 500')) throw new ModelError('server-error', 'failed (simulated)', { status: 500 });
    if (is('model.overflow', 'a conversation that is too long'))
      throw new ModelError('context-overflow', 'too long (simulated)', { status: 400 });
    if (is('model.filter', 'blocked by a content filter'))
      throw new ModelError('content-filter', 'blocked (simulated)', { status: 400 });
    if (is('model.stall', 'no answer')) return untilAborted(io.signal);
    if (is('model.malformed', 'a malformed reply')) {
      spoilt ??= hostile({ seed: draws.below('model', 2 ** 30), model: base, rate: 1 });
      return spoilt.complete(request, io);
    }
    const reply =
      Number(place) < draws.done ? withoutCalls(await base.complete(request, io), draws, Number(place)) : DONE;
    if (is('model.broken-stream', 'an error in the middle of the stream')) {
      io.onToken?.({ kind: 'text', text: reply.content.slice(0, 5) });
      throw new ModelError('connect-failed', 'the stream ended (simulated)');
    }
    if (is('model.cut', 'cut off')) return { content: reply.content.slice(0, 5), finishReason: 'length' };
    if (is('model.usage', 'wrong usage'))
      return { ...reply, usage: { inputTokens: -7, outputTokens: Number.NaN, totalTokens: 1e300 } };
    return reply;
  };
  return {
    id: base.id ?? 'simulated',
    ...defined({ toolCalling: base.toolCalling, takesImages: base.takesImages, takesFiles: base.takesFiles }),
    complete: async (request, io) => {
      io.signal.throwIfAborted();
      const { messages } = request;
      const before = answered.findLast((one) => isSameList(one.messages, messages));
      if (before !== undefined) return before.reply;
      const reply = await answer(request, io);
      answered.push({ messages, reply });
      return reply;
    },
  };
}

/** Most requests have more messages than those before them: only the others are compared as text. */
function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && JSON.stringify(one) === JSON.stringify(other);
}

/** A model that has no idea: it calls whatever is offered, and can answer at every request. */
export function inventingModel(draws: Draws, hostile: HostileMaker): Model {
  const inventing = hostile({ seed: draws.below('replies', 2 ** 30), rate: 0 });
  let count = 0;
  return {
    id: 'inventing',
    complete: async (request, io) => {
      const isInvented = draws.happens('reply', `${++count}`, 1, `reply ${count} is invented`);
      const reply = await inventing.complete(request, isInvented ? io : { ...io, onToken: () => undefined });
      return {
        ...(isInvented ? reply : DONE),
        usage: { inputTokens: 40, outputTokens: 10, totalTokens: 50 },
      };
    },
  };
}

/** What the model would have said here is never said. */
async function passedOver(base: Model, request: ModelRequest, io: ModelIo): Promise<void> {
  await base.complete(request, { ...io, onToken: () => undefined }).catch(() => undefined);
}

/** The reply without the calls, or the steps of its plan, that are left out. */
function withoutCalls(reply: ModelReply, draws: Draws, request: number): ModelReply {
  const { toolCalls = [] } = reply;
  const [plan] = toolCalls;
  const steps = plan?.name === 'make_plan' ? stepsOf(plan.arguments) : null;
  draws.replies.set(request, steps?.length ?? toolCalls.length);
  const isLeft = (_call: unknown, index: number): boolean => !draws.leavesOut(`call ${request}.${index + 1}`);
  const left = (steps ?? toolCalls).filter(isLeft).length;
  if (left === 0 || left === (steps ?? toolCalls).length) return reply;
  if (steps === null || plan === undefined) return { ...reply, toolCalls: toolCalls.filter(isLeft) };
  return { ...reply, toolCalls: [{ ...plan, arguments: { plan: steps.filter(isLeft) } }] };
}

function stepsOf(args: string | Json | undefined): readonly Json[] | null {
  const read = typeof args === 'string' ? parsedText(args) : args;
  return isJsonObject(read) && isList(read.plan) ? read.plan : null;
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
