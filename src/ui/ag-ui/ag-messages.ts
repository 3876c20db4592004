import type { RunRecord } from '../../journal/format/record.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { type ChatRunsOptions, checkReading, wholeRuns } from '../base/owned-runs.ts';
import { AgUiFold } from './ag-ui-fold.ts';
import type { AgEvent, AgInterrupt } from './ag-event.ts';

/** The metadata that identifies the message that a run was begun with. */
export const AG_MESSAGE = 'agUiMessage';

/** The messages of a thread so far, in AG-UI's format, the oldest first; none if the owner has no such thread. */
export async function readAgMessages(
  journal: JournalStore,
  threadId: string,
  options: ChatRunsOptions = {},
): Promise<readonly object[]> {
  checkReading('agUi.messages', options);
  const messages: object[] = [];
  const places = new Map<string, { readonly at: number; readonly runId: string; readonly said: AskedMessage }>();
  for await (const { head, groups } of wholeRuns(journal, threadId, options)) {
    const fold = new AgUiFold();
    const document = new AgDocument();
    for (const { events } of groups) for (const event of fold.feed(events)) document.take(event);
    const said = asked(head);
    const before = places.get(said.id);
    // A message that was sent again, because its run had failed, is one. What says something else has the id from then on: by that
    // its client knows it, and asks for its answer again.
    if (before === undefined || JSON.stringify(before.said) !== JSON.stringify(said)) {
      if (before !== undefined) messages[before.at] = { ...before.said, id: ownId(before.runId) };
      places.set(said.id, { at: messages.length, runId: head.runId, said });
      messages.push(said);
    }
    messages.push(...document.messages);
  }
  return messages;
}

interface AskedMessage {
  readonly id: string;
  readonly role: 'user';
  readonly content: string | readonly object[];
}

/** The id of a message that no client has named. */
function ownId(runId: string): string {
  return `asked:${runId}`;
}

/** The message from a person that began a run. */
function asked({ runId, input, content, metadata }: RunRecord): AskedMessage {
  const known = metadata[AG_MESSAGE];
  const id = typeof known === 'string' ? known : ownId(runId);
  if (content === undefined) return { id, role: 'user', content: input };
  const parts = content.map((part) => {
    if (part.type === 'text') return part;
    const [, found, value] = /^data:([^;,]+);base64,(.*)$/s.exec(part.url) ?? [];
    const mimeType = part.type === 'file' ? part.mediaType : found;
    const named = mimeType === undefined ? {} : { mimeType };
    const source = value === undefined ? { type: 'url', value: part.url } : { type: 'data', value };
    const [, kind = 'document'] =
      part.type === 'image' ? ['', 'image'] : (/^(audio|video)\//.exec(part.mediaType) ?? []);
    const about = part.type === 'file' && part.filename !== undefined ? { metadata: { filename: part.filename } } : {};
    return { type: kind, source: { ...source, ...named }, ...about };
  });
  return { id, role: 'user', content: parts };
}

/** A message as a client of AG-UI keeps it. */
interface AgMessage {
  readonly id: string;
  readonly role: 'assistant' | 'user' | 'tool';
  content?: string;
  toolCallId?: string;
  subagentRunId?: string;
  toolCalls?: {
    readonly id: string;
    readonly type: 'function';
    readonly function: { readonly name: string; arguments: string };
  }[];
}

/** What of a stream is open, and what its client has by it: so that another stream can continue it. */
export class AgDocument {
  /** What opened each thing that is open, in order. */
  readonly #open = new Map<string, AgEvent>();
  readonly #messages: AgMessage[] = [];

  take(event: AgEvent): void {
    const edge = edgeOf(event);
    if (edge?.opens === true) this.#open.set(edge.thing, event);
    else if (edge !== null) this.#open.delete(edge.thing);
    this.#write(event);
  }

  /** Opens again what is open, for a client that begins here. */
  reopened(): readonly AgEvent[] {
    return [...this.#open.values()];
  }

  /** Closes what is open, for now. */
  suspended(interrupts: readonly AgInterrupt[]): readonly AgEvent[] {
    return this.reopened()
      .toReversed()
      .flatMap((event): readonly AgEvent[] => {
        if (event.type === 'STEP_STARTED') return [{ type: 'STEP_FINISHED', stepName: event.stepName }];
        if (event.type !== 'SUBAGENT_STARTED') return [];
        const { subagentRunId } = event;
        const interruptIds = interrupts.filter((one) => one.subagentRunId === subagentRunId).map(({ id }) => id);
        return [{ type: 'SUBAGENT_FINISHED', subagentRunId, outcome: { type: 'suspended', interruptIds } }];
      });
  }

  /** The messages so far, but for those that a snapshot leaves alone: thoughts and activities. */
  get messages(): readonly object[] {
    return structuredClone(this.#messages);
  }

  #write(event: AgEvent): void {
    switch (event.type) {
      case 'TEXT_MESSAGE_START':
        this.#message(event.messageId, event.role).content ??= '';
        break;
      case 'TEXT_MESSAGE_CONTENT': {
        const message = this.#message(event.messageId, 'assistant');
        message.content = (message.content ?? '') + event.delta;
        break;
      }
      case 'TOOL_CALL_START': {
        const message = this.#message(event.parentMessageId, 'assistant');
        if (event.subagentRunId !== undefined) message.subagentRunId = event.subagentRunId;
        message.toolCalls ??= [];
        message.toolCalls.push({
          id: event.toolCallId,
          type: 'function',
          function: { name: event.toolCallName, arguments: '' },
        });
        break;
      }
      case 'TOOL_CALL_ARGS': {
        const calls = this.#messages.flatMap(({ toolCalls = [] }) => toolCalls);
        const call = calls.find(({ id }) => id === event.toolCallId);
        if (call !== undefined) call.function.arguments += event.delta;
        break;
      }
      case 'TOOL_CALL_RESULT': {
        const message = this.#message(event.messageId, 'tool');
        message.content = event.content;
        message.toolCallId = event.toolCallId;
        if (event.subagentRunId !== undefined) message.subagentRunId = event.subagentRunId;
        break;
      }
    }
  }

  #message(id: string, role: AgMessage['role']): AgMessage {
    const known = this.#messages.find((message) => message.id === id);
    if (known !== undefined) return known;
    const message: AgMessage = { id, role };
    this.#messages.push(message);
    return message;
  }
}

/** What is opened and closed, with the member that says which of them it is. */
const OPENED: { readonly [kind: string]: string } = {
  STEP: 'stepName',
  SUBAGENT: 'subagentRunId',
  TEXT_MESSAGE: 'messageId',
  TOOL_CALL: 'toolCallId',
  REASONING: 'messageId',
  REASONING_MESSAGE: 'messageId',
};

/** What an event opens or closes, and which of them; null where neither. */
function edgeOf(event: AgEvent): { readonly thing: string; readonly opens: boolean } | null {
  const [, kind = '', edge] = /^(\w+?)_(START|END|FINISHED|ERROR)/.exec(event.type) ?? [];
  const member = OPENED[kind];
  if (member === undefined) return null;
  return { thing: `${kind} ${Reflect.get(event, member)}`, opens: edge === 'START' };
}
