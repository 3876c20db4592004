import type { RunEvent } from '../../machines/events/run-events.ts';
import { newChatId } from '../base/owned-runs.ts';
import { chatTransport } from './chat-transport.ts';
import type { UiChunk } from './ui-chunk.ts';
import { readUiMessages } from './ui-messages.ts';
import { resumeUiStream, serveUiStream } from './ui-server.ts';
import { UiStreamFold } from './ui-stream-fold.ts';

/** The AI SDK's UI message stream of runs. */
export interface UiStream {
  /** The chunks of a run's events, of all or of those so far. Nondeterministic parts, such as tokens, are ignored. */
  (events: Iterable<RunEvent>): readonly UiChunk[];
  /**
   * Answers a request of `useChat`: a message, answers to approvals, a stop, a steer, and (`GET`) resuming the stream.
   *
   * @example app.all('/api/chat/*', (c) => uiStream.serve(agent, c.req.raw, { journal, owner: c.get('user') }));
   */
  readonly serve: typeof serveUiStream;
  /** The last run of a chat as a stream; 204 when nothing is live. */
  readonly resume: typeof resumeUiStream;
  /**
   * The messages of a chat so far, for `useChat({ messages })`; none if the owner has no such chat.
   *
   * @example const messages = await uiStream.messages<UIMessage>(journal, chatId, { owner });
   */
  readonly messages: typeof readUiMessages;
  /** A transport for `useChat`, for the browser. */
  readonly transport: typeof chatTransport;
  /** A new chat id that cannot be guessed. Chats that are served without an owner need one. */
  readonly newChatId: typeof newChatId;
}

/** Runs as streams for `useChat` of the AI SDK. */
export const uiStream: UiStream = /* @__PURE__ */ Object.assign(
  (events: Iterable<RunEvent>) => new UiStreamFold().feed(events),
  { serve: serveUiStream, resume: resumeUiStream, messages: readUiMessages, transport: chatTransport, newChatId },
);
