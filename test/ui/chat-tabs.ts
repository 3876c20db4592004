import {
  AbstractChat,
  type ChatState,
  type ChatTransport,
  type UIMessage,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from 'ai';
import { type SignalboxTransport, chatTransport } from '../../src/ui/index.ts';

/** What `useChat` keeps, without React. */
class State implements ChatState<UIMessage> {
  status: ChatState<UIMessage>['status'] = 'ready';
  error: Error | undefined = undefined;
  messages: UIMessage[] = [];
  pushMessage = (message: UIMessage): void => void (this.messages = [...this.messages, message]);
  popMessage = (): void => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index: number, message: UIMessage): void =>
    void (this.messages = this.messages.map((one, at) => (at === index ? structuredClone(message) : one)));
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

export class TestChat extends AbstractChat<UIMessage> {}

export interface Tab {
  readonly chat: TestChat;
  readonly transport: SignalboxTransport;
}

/** A tab of a browser in which a chat is open. */
export function tab(url: string, id: string, user = 'ada', messages: UIMessage[] = []): Tab {
  const transport = chatTransport({ api: `${url}/api/chat`, headers: { user } });
  return { transport, chat: chatOver(transport, id, messages) };
}

export function chatOver(transport: unknown, id: string, messages: UIMessage[] = [], queues = false): TestChat {
  const state = new State();
  state.messages = messages;
  return new TestChat({
    id,
    state,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the chunks are checked by the client
    transport: transport as ChatTransport<UIMessage>,
    experimental_queue: queues,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
}

export function textOf(message: UIMessage | undefined): string {
  return message?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? '';
}

export async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries += 1) {
    if (tries > 10_000) throw new Error('It did not happen.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
