import { wrongOption } from '../json/known-options.ts';
import { RestatePromise, TerminalError, type WorkflowSharedContext } from '@restatedev/restate-sdk';
import type { OutsideEvent } from '../actors/journal.ts';
import { checkApproval, checkMessage } from '../agent/options/check-options.ts';
import { approvalGiven } from '../agent/run/run.ts';
import type { JsonObject } from '../json/json.ts';
import { KEPT, type SentEvent } from './restate-journal.ts';

/** What can be sent to a run on Restate, like with a run's methods of the same names. */
export type RestateMessage =
  | { readonly type: 'approve'; readonly callId: string; readonly always?: boolean; readonly args?: JsonObject }
  | { readonly type: 'reject'; readonly callId: string; readonly reason?: string }
  | { readonly type: 'steer'; readonly text: string; readonly id?: string; readonly interrupt?: boolean }
  | { readonly type: 'queue'; readonly text: string; readonly id?: string }
  | { readonly type: 'cancel'; readonly reason?: string };

/** The status that Restate has for a promise that is resolved already. */
const TAKEN = 409;

/** Sends a message to a run. */
export async function sendMessage(ctx: WorkflowSharedContext, message: RestateMessage): Promise<boolean> {
  return sendEvent(ctx, read(message, ctx.rand.uuidv4()));
}

/** Puts an event into the first free slot of a run, and waits for the run's answer. */
export async function sendEvent(ctx: WorkflowSharedContext, said: Omit<SentEvent, 'at'>): Promise<boolean> {
  const taken = await ctx.get<number>(KEPT.taken);
  if (taken === null) throw new TerminalError(`There is no run '${ctx.key}'.`, { errorCode: 404 });
  const isOver = ctx.promise<boolean>(KEPT.over);
  if ((await isOver.peek()) !== undefined) return hadTaken(ctx, said.event);
  const at = await ctx.date.now();
  const slot = await put(ctx, { at, ...said }, taken);
  const answer = ctx.promise<boolean>(KEPT.answer(slot));
  await RestatePromise.race([answer.get(), isOver.get()]);
  return (await answer.peek()) ?? false;
}

/** True for a message that a run which is over had taken, and whose sender may not have heard that. */
async function hadTaken(ctx: WorkflowSharedContext, { id }: OutsideEvent): Promise<boolean> {
  for (let slot = 0; ; slot += 1) {
    const sent = await ctx.promise<SentEvent>(KEPT.slot(slot)).peek();
    if (id === undefined || sent === undefined) return false;
    if (sent.event.id === id && (await ctx.promise<boolean>(KEPT.answer(slot)).peek()) === true) return true;
  }
}

/** Gives the number of the slot that it took: the first free one. */
async function put(ctx: WorkflowSharedContext, sent: SentEvent, from: number): Promise<number> {
  for (let slot = from; ; slot += 1) {
    try {
      // The next one only where this one is taken.
      await ctx.promise<SentEvent>(KEPT.slot(slot)).resolve(sent);
      return slot;
    } catch (error) {
      if (!(error instanceof TerminalError) || error.code !== TAKEN) throw error;
    }
  }
}

function read(message: RestateMessage, freshId: string): Omit<SentEvent, 'at'> {
  try {
    return eventOf(message, freshId);
  } catch (error) {
    throw new TerminalError(error instanceof Error ? error.message : String(error), { errorCode: 400 });
  }
}

function eventOf(message: RestateMessage, freshId: string): { readonly event: OutsideEvent; readonly callId?: string } {
  switch (message.type) {
    case 'approve': {
      const { callId, type: _type, ...how } = message;
      checkApproval(how, 'send');
      return { event: approvalGiven(how), callId: named(callId) };
    }
    case 'reject':
      return { event: { type: 'approval.refused', reason: message.reason ?? '' }, callId: named(message.callId) };
    case 'steer': {
      const { text, id = freshId, interrupt = false } = message;
      checkMessage('send', text, { id, interrupt });
      return { event: { type: 'message.steered', id, text, ...(interrupt ? { interrupt } : {}) } };
    }
    case 'queue': {
      const { text, id = freshId } = message;
      checkMessage('send', text, { id });
      return { event: { type: 'message.queued', id, text } };
    }
    case 'cancel':
      return { event: { type: 'run.cancelled', reason: message.reason ?? '' } };
    default:
      throw wrongOption("send: a message is of type 'approve', 'reject', 'steer', 'queue' or 'cancel'.");
  }
}

function named(callId: unknown): string {
  if (typeof callId === 'string' && callId !== '') return callId;
  throw wrongOption("send: 'callId' must name the call that waits; `state` lists those.");
}
