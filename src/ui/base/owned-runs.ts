/**
 * Owns: which runs a request may know of. Does not own: who sent it, which the app finds out before it names an owner.
 *
 * I1 A run of another owner is to every request as if it were not there.
 */
import type { Part } from '../../actors/model.ts';
import { type RunInput, readInput } from '../../agent/options/input-parts.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { RunSummary } from '../../journal/format/tally.ts';
import type { Followed } from '../../journal/run/follow-run.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import type { JsonObject } from '../../json/json.ts';
import { optionsOf, wrongOption } from '../../json/known-options.ts';
import type { EventGroup, GroupStanding } from './event-groups.ts';
import { followGroups, PART_MS, sleep } from './follow-groups.ts';

/** Ids that only we make, for a run and for a chat (`newChatId`). They cannot be guessed. */
const OWN_ID = /^(?:[0-9a-v]{10}-[0-9a-v]{10}|chat-[0-9a-v]{26})$/;

/** A fresh id of a chat: 130 bits of chance. A chat without an owner must have one of these. */
export function newChatId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(26));
  return `chat-${[...bytes].map((byte) => (byte % 32).toString(32)).join('')}`;
}

/**
 * The conversation id of a chat: each owner has their own, whatever ids others use. Null for a chat that must not be
 * served: one without an owner whose id could be guessed.
 */
export function conversationId(chatId: string, owner: string | undefined): string | null {
  if (owner !== undefined) return chatId === '' ? null : `${encodeURIComponent(owner)}/${chatId}`;
  return OWN_ID.test(chatId) ? chatId : null;
}

/** Whether a request of this owner may know of the run with this head. */
export function isOwnedBy(run: { readonly runId: string; readonly metadata: JsonObject }, owner?: string): boolean {
  const recorded = run.metadata.conversationOwner ?? run.metadata.owner;
  if (owner !== undefined) return recorded === owner;
  return recorded === undefined && OWN_ID.test(run.runId);
}

/** The first record of a run; null where there is none, and where it is another owner's. */
export async function ownedHead(journal: Followed, runId: string, owner?: string): Promise<RunRecord | null> {
  const head = await firstRecord(journal, runId);
  return head !== null && isOwnedBy(head, owner) ? head : null;
}

async function firstRecord(journal: Followed, runId: string): Promise<RunRecord | null> {
  for await (const { run } of followGroups(journal, runId, { signal: new AbortController().signal })) return run.head;
  return null;
}

/** The last run of a chat, or the last with this metadata; null where there is none, and where the chat is another owner's. */
export async function lastRunOf(
  journal: Pick<JournalStore, 'list'>,
  chatId: string,
  owner?: string,
  metadata: JsonObject = {},
): Promise<RunSummary | null> {
  const conversation = conversationId(chatId, owner);
  if (conversation === null) return null;
  const [last] = (await journal.list?.({ metadata: { ...metadata, conversation }, limit: 1 })) ?? [];
  // A conversation with this id that the app has begun for another owner, or for none, is not a chat of this owner.
  return last !== undefined && isOwnedBy(last, owner) ? last : null;
}

/** True for the input that a run was begun with: its text, images and files. Where it holds secrets, the run has marks in their place. */
export async function saysSame(
  journal: Followed,
  { runId, input }: Pick<RunSummary, 'runId' | 'input'>,
  said: RunInput,
): Promise<boolean> {
  const { task, content } = readInput(said);
  if (!isButForSecrets(input, task)) return false;
  return isButForSecrets(mediaIn((await firstRecord(journal, runId))?.content), mediaIn(content));
}

function isButForSecrets(recorded: string, said: string): boolean {
  const [start = '', ...rest] = recorded.split(/«secret[^»]*»/);
  return rest.length === 0 ? said === recorded : said.startsWith(start) && said.endsWith(rest.at(-1) ?? '');
}

function mediaIn(content: readonly Part[] | null | undefined): string {
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [] : [part.url])).join('\n');
}

/** Which chat is read, for which owner, and how much of it. */
export interface ChatRunsOptions {
  /** By the app's own authentication. Without it only chats with unguessable ids are served. */
  readonly owner?: string | undefined;
  /** At most this many runs, the latest. Default 100. */
  readonly limit?: number | undefined;
}

const checkNames = optionsOf<ChatRunsOptions>('messages', 'docs/ui.md', { owner: true, limit: true });

/** Checks how the messages of a chat are read. */
export function checkReading(what: string, options: ChatRunsOptions): void {
  checkNames(options, what);
  checkOwner(what, options.owner);
}

/** An owner that is not a text would mix up whose chats they are. */
export function checkOwner(what: string, owner: unknown): void {
  if (owner === undefined || (typeof owner === 'string' && owner !== '')) return;
  throw wrongOption(`${what}: option 'owner' must be a text that is not empty.`);
}

/** The runs of a chat, the oldest first; none where the owner has no such chat. */
export async function runsOfChat(
  journal: Pick<JournalStore, 'list'>,
  chatId: string,
  { owner, limit }: ChatRunsOptions,
): Promise<readonly RunSummary[]> {
  const conversation = conversationId(chatId, owner);
  if (conversation === null) return [];
  const query = { metadata: { conversation }, ...(limit === undefined ? {} : { limit }) };
  const all = (await journal.list?.(query)) ?? [];
  return all.filter((run) => isOwnedBy(run, owner)).toReversed();
}

/** A run as far as it is recorded now. */
interface WholeRun {
  readonly head: RunRecord;
  readonly groups: readonly EventGroup[];
  readonly run: GroupStanding;
}

/** How a run stands now; null where there is none. */
export async function standingOf(journal: Followed, runId: string): Promise<GroupStanding | null> {
  return (await wholeRun(journal, runId))?.run ?? null;
}

/** What is recorded of a run; null where there is none. */
async function wholeRun(journal: Followed, runId: string): Promise<WholeRun | null> {
  const groups: EventGroup[] = [];
  for await (const batch of followGroups(journal, runId, { signal: new AbortController().signal })) {
    groups.push(...batch.groups);
    const isAll = batch.isWhole || batch.run.problem !== null;
    if (isAll && batch.run.head !== null) return { head: batch.run.head, groups, run: batch.run };
  }
  return null;
}

/** The latest runs of a chat, as far as they are recorded now, one after the other. */
export async function* wholeRuns(
  journal: JournalStore,
  chatId: string,
  { owner, limit = 100 }: ChatRunsOptions,
): AsyncGenerator<WholeRun> {
  let until = performance.now() + PART_MS;
  for (const { runId } of await runsOfChat(journal, chatId, { owner, limit })) {
    const whole = await wholeRun(journal, runId);
    if (whole !== null) yield whole;
    if (performance.now() < until) continue;
    // Many short runs hold up others as one long run does.
    await sleep(0);
    until = performance.now() + PART_MS;
  }
}
