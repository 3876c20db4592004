/**
 * Owns: what people say to a run while it works: what waits for the model's next turn, and what waits for the next run.
 * Does not own: how it is written down and acknowledged (the journal, the run's handle).
 *
 * I1 A message that was accepted is delivered to the model once, in the order of arrival, or stands in the output.
 * I2 No more than `maxSteers` are accepted, so the run still ends.
 */
import { MAX_STEERS, type Mail, type SentMessage } from '../contract/mail.ts';
import type { AgentContext, Update } from './agent-context.ts';
import { userMessage, withMessages } from './agent-texts.ts';
import { isTokenBudgetSpent } from './planning.ts';

/** True for a message that the run does not have yet, within the limit. */
export function takesSteer({ stats: { mail }, settings, ending }: AgentContext, { id, text }: SentMessage): boolean {
  const taken = mail.waiting.length + mail.delivered.length;
  return ending === null && taken < (settings.maxSteers ?? MAX_STEERS) && isNew(mail, id) && text.trim() !== '';
}

/** True for a message for the next run that this one does not have yet. */
export function takesQueued({ stats: { mail } }: AgentContext, { id, text }: SentMessage): boolean {
  return isNew(mail, id) && text.trim() !== '';
}

function isNew({ waiting, delivered, queued, withdrawn }: Mail, id: string): boolean {
  return ![...waiting, ...delivered, ...queued].some((one) => one.id === id) && !withdrawn.includes(id);
}

/** Forgets a message that was taken back. */
export function messageWithdrawn({ stats }: AgentContext, id: string): Update {
  const { mail } = stats;
  const queued = mail.queued.filter((one) => one.id !== id);
  return { stats: { ...stats, mail: { ...mail, queued, withdrawn: [...mail.withdrawn, id] } } };
}

/** Keeps a message for the model's next turn. */
export function steerTaken({ stats }: AgentContext, { id, text }: SentMessage): Update {
  const { mail } = stats;
  return { stats: { ...stats, mail: { ...mail, waiting: [...mail.waiting, { id, text }] } } };
}

/** Keeps a message for the next run. */
export function queuedTaken({ stats }: AgentContext, { id, text, content, metadata }: SentMessage): Update {
  const { mail } = stats;
  const message = { id, text, ...(content && { content }), ...(metadata && { metadata }) };
  return { stats: { ...stats, mail: { ...mail, queued: [...mail.queued, message] } } };
}

/** Puts what waits into the conversation, before the model is asked. */
export function steersDelivered(context: AgentContext): Update {
  const { stats, messages, stepsTaken } = context;
  const { waiting, delivered } = stats.mail;
  if (waiting.length === 0) return {};
  return {
    messages: withMessages(messages, ...waiting.map(({ text }) => userMessage(text))),
    stats: {
      ...stats,
      mail: {
        ...stats.mail,
        waiting: [],
        delivered: [...delivered, ...waiting.map((one) => ({ ...one, step: stepsTaken }))],
      },
    },
  };
}

/** True if a finished answer is not the end: a message has arrived since, and a turn is left for it. */
export function isSteeredOn(context: AgentContext): boolean {
  const { stats, stepsTaken, settings } = context;
  return (
    stats.mail.waiting.length > 0 &&
    stats.lastTurn === null &&
    stepsTaken < settings.maxSteps &&
    !isTokenBudgetSpent(context)
  );
}
