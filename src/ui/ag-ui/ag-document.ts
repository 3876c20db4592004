import type { AgEvent, AgInterrupt } from './ag-event.ts';

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
    const opens = openedBy(event);
    if (opens !== null) this.#open.set(opens, event);
    const closes = closedBy(event);
    if (closes !== null) this.#open.delete(closes);
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

function openedBy(event: AgEvent): string | null {
  switch (event.type) {
    case 'STEP_STARTED':
      return `step ${event.stepName}`;
    case 'SUBAGENT_STARTED':
      return `subagent ${event.subagentRunId}`;
    case 'TEXT_MESSAGE_START':
      return `text ${event.messageId}`;
    case 'TOOL_CALL_START':
      return `call ${event.toolCallId}`;
    case 'REASONING_START':
      return `reasoning ${event.messageId}`;
    case 'REASONING_MESSAGE_START':
      return `thought ${event.messageId}`;
    default:
      return null;
  }
}

function closedBy(event: AgEvent): string | null {
  switch (event.type) {
    case 'STEP_FINISHED':
      return `step ${event.stepName}`;
    case 'SUBAGENT_FINISHED':
    case 'SUBAGENT_ERROR':
      return `subagent ${event.subagentRunId}`;
    case 'TEXT_MESSAGE_END':
      return `text ${event.messageId}`;
    case 'TOOL_CALL_END':
      return `call ${event.toolCallId}`;
    case 'REASONING_END':
      return `reasoning ${event.messageId}`;
    case 'REASONING_MESSAGE_END':
      return `thought ${event.messageId}`;
    default:
      return null;
  }
}
