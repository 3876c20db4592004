/** Connections to MCP servers, usable without an agent. */
import '../platform.ts';
export { createMcpConnection } from './create-connection.ts';
export { terminalElicit, type TerminalElicitOptions } from './questions/terminal-elicit.ts';
export { policyFromAnnotations } from './policies/annotations.ts';
export { clientCredentials, oauth, type McpLoginStatus } from './config/auth.ts';
export { TokenStoreError, fileTokenStore } from './auth/token-store.ts';
export { McpError } from '../actors/mcp/mcp-calls.ts';
export type { McpErrorCode, McpQuestion, McpTool, McpToolAnnotations } from '../actors/mcp/mcp-calls.ts';
export type { McpLogin } from '../actors/mcp/mcp-auth.ts';
export type {
  ClientCredentialsOptions,
  ClientCredentialsSettings,
  IdentityProviderOptions,
  McpAuth,
  OAuthOptions,
  OAuthSettings,
  TokenSource,
} from './config/auth.ts';
export type { FileTokenStoreOptions } from './auth/token-store.ts';
export type { TokenStore } from './config/auth.ts';
export type {
  McpConfigError,
  McpHttpConfig,
  McpServerConfig,
  McpServerSettings,
  McpServersConfig,
  McpStdioConfig,
  McpToolOverride,
} from './config/config.ts';
export type {
  McpCallOptions,
  McpCompletion,
  McpPrompt,
  McpRequestOptions,
  McpResourceContent,
} from './calls/requests.ts';
export type { McpConnection, McpConnectionNews, McpConnectionOptions } from './connection-types.ts';
export type { McpLoginStep, McpState } from './connection-types.ts';
export type { McpResourceUpdate } from './calls/subscriptions.ts';
export type {
  McpAnswers,
  McpElicit,
  McpElicitation,
  McpElicitationAnswer,
  McpFormElicitation,
  McpRoot,
  McpSampled,
  McpSampler,
  McpSampling,
  McpUrlElicitation,
} from './config/answers.ts';
export type { McpProgress, McpServerInfo } from './wire/link.ts';
export type { McpLogLevel } from './config/config.ts';
export type { McpLogMessage } from './connection-news.ts';
export type { McpLimits } from './config/server-limits.ts';
