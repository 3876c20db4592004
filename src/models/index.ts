import '../platform.ts';
export { chatModel } from './chat/chat-model.ts';
export { fromAiSdk, type AiSdkOptions } from './ai-sdk/from-ai-sdk.ts';
export type { AiSdkCall, AiSdkLanguageModel, AiSdkSettings, AiSdkStream } from './ai-sdk/language-model.ts';
export type { ChatModelOptions, ClientRequestOptions, Fetch, OpenAIClient } from './endpoint/endpoint.ts';
export type { PresetName } from './endpoint/presets.ts';
export {
  ModelError,
  type Message,
  type MessageToolCall,
  type Model,
  type ModelErrorCode,
  type ModelIo,
  type ModelReply,
  type ModelRequest,
  type ModelToken,
  type ModelTool,
  type ProviderState,
  type Part,
  type ReplyStats,
  type ToolCalling,
  type Usage,
} from '../actors/model.ts';
