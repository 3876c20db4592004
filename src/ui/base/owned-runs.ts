/**
 * Owns: which runs a request may know of. Does not own: who sent it, which the app finds out before it names an owner.
 *
 * I1 A run of another owner is to every request as if it were not there.
 */
import type { Recording } from '../../journal/format/recording.ts';
import type { RunSummary } from '../../journal/format/tally.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import type { JsonObject } from '../../json/json.ts';

/** Ids that only we make: of a run, and of a chat (`newChatId`). Nobody guesses one. */
const OWN_ID = /^(?:[0-9a-v]{10}-[0-9a-v]{10}|chat-[0-9a-v]{26})$/;

/** A fresh id of a chat: 130 bits of chance. A chat without an owner must have one of these. */
export function newChatId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(26));
  return `chat-${[...bytes].map((byte) => (byte % 32).toString(32)).join('')}`;
}

/**
 * The id of the conversation that a chat is: each owner has their own, whatever ids others use. Null for a chat that is served
 * to nobody: one without an owner whose id could be guessed.
 */
export function conversationId(chatId: string, owner: string | undefined): string | null {
  if (owner !== undefined) return chatId === '' ? null : `${encodeURIComponent(owner)}/${chatId}`;
  return OWN_ID.test(chatId) ? chatId : null;
}

/** Whether a request of this owner may know of the run with this head. */
export function isOwnedBy(run: { readonly runId: string; readonly metadata: JsonObject }, owner?: string): boolean {
  const { conversationOwner, owner: named, conversation } = run.metadata;
  const recorded = conversationOwner ?? named;
  if (owner !== undefined) return recorded === owner || (recorded === undefined && conversation === owner);
  return recorded === undefined && OWN_ID.test(run.runId);
}

/** What is recorded of a run; null where there is none, and where it is another owner's. */
export async function ownedRun(
  journal: Pick<JournalStore, 'read'>,
  runId: string,
  owner?: string,
): Promise<Recording | null> {
  const recording = (await journal.read?.(runId)) ?? null;
  return recording !== null && isOwnedBy(recording.head, owner) ? recording : null;
}

/** The last run of a chat; null before the first, and where the chat is another owner's. */
export async function lastRunOf(
  journal: Pick<JournalStore, 'list'>,
  chatId: string,
  owner?: string,
): Promise<RunSummary | null> {
  const conversation = conversationId(chatId, owner);
  if (conversation === null) return null;
  const [last] = (await journal.list?.({ metadata: { conversation }, limit: 1 })) ?? [];
  return last ?? null;
}
