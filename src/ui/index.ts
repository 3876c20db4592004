import '../platform.ts';
export { chatTransport } from './ai-sdk/chat-transport.ts';
export { uiStream } from './ai-sdk/ui-stream.ts';
export type { ChatAnswer, ChatTransportOptions, SignalboxTransport } from './ai-sdk/chat-transport.ts';
export type { UiChunk } from './ai-sdk/ui-chunk.ts';
export type { ResumeStreamOptions, ServeOptions } from './ai-sdk/ui-server.ts';
export type { UiStream } from './ai-sdk/ui-stream.ts';
export type { RunView } from './base/run-view.ts';
