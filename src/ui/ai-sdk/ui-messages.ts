/**
 * Owns: the messages of a chat as `useChat` begins with them. Does not own: what its runs are as chunks (the fold).
 *
 * I1 A message is what the AI SDK's own reader makes of the same chunks.
 * I2 A client that may not know of a chat gets the same as for a missing one: no messages.
 */
import type { Part } from '../../actors/model.ts';
import { toBase64 } from '../../agent/options/input-parts.ts';
import { type JsonObject, defined, isJsonObject } from '../../json/json.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { type ChatRunsOptions, checkReading, wholeRuns } from '../base/owned-runs.ts';
import type { UiChunk } from './ui-chunk.ts';
import { textHead } from './ui-requests.ts';
import { UiStreamFold } from './ui-stream-fold.ts';

/** The metadata that identifies the run that a message began. */
export const MESSAGE = 'uiMessage';

/** The metadata with what the input of such a run does not say of the message's parts. */
export const PARTS = 'uiParts';

/** A part of a message, as the AI SDK has it. */
export interface UiPart {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A message, as the AI SDK has it: a `UIMessage`. */
export interface UiMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly metadata?: object;
  readonly parts: UiPart[];
}

/** The messages of a chat so far, the oldest first; none if the owner has no such chat. */
export async function readUiMessages<TMessage = UiMessage>(
  journal: JournalStore,
  chatId: string,
  options: ChatRunsOptions = {},
): Promise<TMessage[]> {
  checkReading('uiStream.messages', options);
  const messages: UiMessage[] = [];
  for await (const { head, groups, run } of wholeRuns(journal, chatId, options)) {
    const fold = new UiStreamFold();
    const reply = new UiMessageFold();
    for (const { events } of groups) for (const chunk of fold.feed(events)) reply.take(chunk);
    if (run.isWaiting) reply.take({ type: 'finish', messageMetadata: fold.waitingAt(run.position) });
    const message = asked(head);
    // What was run again, because it had no answer, was asked once; a reply without content goes.
    const isAgain = messages.some(({ id }) => id === message.id);
    if (isAgain && messages.at(-1)?.parts.every(({ type }) => type === 'step-start') === true) messages.pop();
    messages.push(...(isAgain ? [] : [message]), ...(reply.message.parts.length === 0 ? [] : [reply.message]));
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a test compares them with those of the AI SDK
  return messages as TMessage[];
}

/** The message from a person that began a run. */
function asked({ runId, input, content, metadata }: RunRecord): UiMessage {
  const id = metadata[MESSAGE];
  const known = Array.isArray(metadata[PARTS]) ? metadata[PARTS].map((one) => (isJsonObject(one) ? one : {})) : [];
  const parts = content ?? textsOf(input, known);
  return {
    id: typeof id === 'string' ? id : `${runId}:asked`,
    role: 'user',
    // Tells a client which run to follow if there is no reply yet.
    metadata: { signalbox: { runId } },
    parts: parts.map((part, at) => askedPart(part, parts.length === known.length ? (known[at] ?? {}) : {})),
  };
}

/** The texts that an input was made of; the whole where a secret in it has changed its length. */
function textsOf(input: string, known: readonly JsonObject[]): readonly Part[] {
  const lengths = known.map(({ chars }) => Number(chars));
  if (lengths.reduce((sum, chars) => sum + chars + 1, -1) !== input.length) return [{ type: 'text', text: input }];
  let end = -1;
  return lengths.map((chars) => {
    const begin = end + 1;
    end = begin + chars;
    return { type: 'text', text: input.slice(begin, end) };
  });
}

/** A part of a person's message, with what is known of its file. */
function askedPart(part: Part, { mediaType, filename }: JsonObject): UiPart {
  const named = typeof filename === 'string' ? { filename } : {};
  if (part.type === 'image') {
    const found = /^data:(image\/[\w.+-]+)/.exec(part.url)?.[1] ?? mediaType ?? 'image/*';
    return { type: 'file', mediaType: found, url: part.url, ...named };
  }
  if (part.type === 'file' || typeof mediaType !== 'string') return { ...part };
  const head = textHead({ mediaType, ...named });
  const data = toBase64(new TextEncoder().encode(part.text.slice(head.length)));
  return { type: 'file', mediaType, url: `data:${mediaType};base64,${data}`, ...named };
}

class UiMessageFold {
  #id = '';
  #metadata: object = {};
  #parts: UiPart[] = [];

  get message(): UiMessage {
    return { id: this.#id, role: 'assistant', metadata: this.#metadata, parts: this.#parts };
  }

  take(chunk: UiChunk): void {
    switch (chunk.type) {
      case 'start':
        this.#id = chunk.messageId ?? this.#id;
        this.#metadata = { ...this.#metadata, ...chunk.messageMetadata };
        break;
      case 'finish':
        this.#metadata = { ...this.#metadata, ...chunk.messageMetadata };
        break;
      case 'start-step':
        this.#parts.push({ type: 'step-start' });
        break;
      case 'reset-step':
        this.#parts = this.#parts.slice(0, this.#parts.findLastIndex(({ type }) => type === 'step-start') + 1);
        break;
      case 'text-start':
        this.#parts.push({ type: 'text', text: '', state: 'streaming' });
        break;
      case 'reasoning-start':
        this.#parts.push({ type: 'reasoning', id: chunk.id, text: '', state: 'streaming' });
        break;
      case 'text-delta':
      case 'reasoning-delta':
        this.#change(-1, (part) => ({ text: `${String(part.text)}${chunk.delta}` }));
        break;
      case 'text-end':
      case 'reasoning-end':
        this.#change(-1, () => ({ state: 'done' }));
        break;
      case 'steering-message':
        this.#parts.push({ ...chunk });
        break;
      case 'abort':
      case 'error':
      case 'finish-step':
        break;
      default:
        if (chunk.type.startsWith('data-')) this.#data(chunk);
        else this.#call(chunk);
    }
  }

  #call(chunk: UiChunk): void {
    switch (chunk.type) {
      case 'tool-input-available': {
        const { toolCallId, toolName, input, dynamic, toolMetadata } = chunk;
        const type = dynamic === true ? { type: 'dynamic-tool', toolName } : { type: `tool-${toolName}` };
        const part = { ...type, toolCallId, ...(toolMetadata === undefined ? {} : { toolMetadata }) };
        const at = this.#at(toolCallId);
        if (at < 0) this.#parts.push({ ...part, state: 'input-available', input });
        else this.#change(at, () => ({ ...part, state: 'input-available', input }));
        break;
      }
      case 'tool-approval-request': {
        const { approvalId: id, approvalDescriptor: descriptor, reason: requestReason, isAutomatic } = chunk;
        const approval = { id, ...defined({ descriptor, requestReason, isAutomatic }) };
        this.#change(this.#at(chunk.toolCallId), () => ({ state: 'approval-requested', approval }));
        break;
      }
      case 'tool-approval-response': {
        const { approvalId, approved, reason } = chunk;
        const at = this.#parts.findLastIndex(({ approval }) => Reflect.get(Object(approval), 'id') === approvalId);
        const answer = { approved, ...defined({ reason }) };
        const before = (part: UiPart): object => Object(part.approval);
        this.#change(at, (part) => ({ state: 'approval-responded', approval: { ...before(part), ...answer } }));
        break;
      }
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied': {
        const { type, toolCallId, ...rest } = chunk;
        this.#change(this.#at(toolCallId), () => ({ state: type.slice('tool-'.length), ...rest }));
        break;
      }
    }
  }

  /** A part of data replaces one of the same id. */
  #data({ type, ...chunk }: UiChunk): void {
    if (Reflect.get(chunk, 'transient') === true) return;
    const id: unknown = Reflect.get(chunk, 'id');
    const at = this.#parts.findIndex((part) => part.type === type && part.id === id);
    if (id === undefined || at < 0) this.#parts.push({ type, ...chunk });
    else this.#change(at, () => chunk);
  }

  #at(toolCallId: string): number {
    return this.#parts.findLastIndex((part) => part.toolCallId === toolCallId);
  }

  #change(at: number, change: (part: UiPart) => object): void {
    const part = this.#parts.at(at);
    if (part !== undefined) this.#parts.splice(at, 1, { ...part, ...change(part) });
  }
}
