import '../platform.ts';
export type { EngineHead, EngineView } from '../agent/run/engine-port.ts';
export { restateAgent } from './restate-agent.ts';
export type {
  RecordingPage,
  RestateAgentOptions,
  RestateHandlers,
  RestateRequest,
  RestateResult,
  RestateState,
} from './restate-agent.ts';
export { restateClient } from './restate-client.ts';
export type { RestateClient, RestateClientOptions } from './restate-client.ts';
export { restateJournal } from './restate-journal.ts';
export type { EngineContext } from './restate-journal.ts';
export type { RestateMessage } from './restate-messages.ts';
