/** Connections to MCP servers, usable without an agent. */
import '../platform.ts';
export { createMcpConnection } from './connection.ts';
export { terminalElicit, type TerminalElicitOptions } from './questions/terminal-elicit.ts';
export { policyFromAnnotations } from './policies/policy-from-annotations.ts';
export { clientCredentials, oauth } from './auth/options.ts';
export { TokenStoreError, fileTokenStore } from './auth/token-store.ts';
export { McpError } from '../actors/mcp/mcp-calls.ts';
export type { McpErrorCode, McpQuestion, McpTool, McpToolAnnotations } from '../actors/mcp/mcp-calls.ts';
export type { McpLogin } from '../actors/mcp/mcp-auth.ts';
export type { McpLoginStatus } from './auth/authorizer.ts';
export type {
  ClientCredentialsOptions,
  ClientCredentialsSettings,
  IdentityProviderOptions,
  McpAuth,
  OAuthOptions,
  OAuthSettings,
  TokenSource,
} from './auth/options.ts';
export type { FileTokenStoreOptions, TokenStore } from './auth/token-store.ts';
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
  McpConnection,
  McpConnectionNews,
  McpLoginStep,
  McpPrompt,
  McpRequestOptions,
  McpResourceContent,
  McpResourceUpdate,
  McpState,
  McpConnectionOptions,
} from './connection-types.ts';
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
} from './questions/answers.ts';
export type { McpProgress, McpServerInfo } from './link/link.ts';
export type { McpLogLevel, McpLogMessage } from './server-log.ts';
export type { McpLimits } from './config/server-limits.ts';
