import './platform.ts';
export { createAgent } from './agent/create-agent.ts';
export {
  AgentBusyError,
  AgentClosedError,
  ResumeError,
  RunError,
  ToolExecutionError,
} from './agent/options/agent-errors.ts';
export { createToolRegistry } from './agent/tools/registry.ts';
export { ReplayDivergenceError } from './journal/replay/divergence.ts';
export { AGENT_STATES } from './machines/contract/run-result.ts';
export { consoleOutput } from './output/console/console-output.ts';
export { silentOutput } from './output/output-handler.ts';
export { recover } from './recovery/recover.ts';
export { skill } from './tools/skill.ts';
export { tool } from './tools/tool.ts';
export type { Confirm, ApprovalDecision, ApprovalRequest } from './actors/ask-approval.ts';
export type { PromptState } from './actors/compose-prompt.ts';
export type { McpTool, McpToolAnnotations } from './actors/mcp/mcp-calls.ts';
export type {
  Message,
  MessageToolCall,
  Model,
  ModelErrorCode,
  ModelIo,
  ModelReply,
  ModelRequest,
  ModelToken,
  ModelTool,
  Part,
  ReplyStats,
  ToolCalling,
  Usage,
} from './actors/model.ts';
export type {
  Agent,
  AgentLogic,
  AgentLogicEvent,
  AgentLogicSnapshot,
  Conversation,
  ListedTool,
} from './agent/agent-types.ts';
export type { AgentOptions } from './agent/options/agent-options.ts';
export type { ResolvedOptions } from './agent/options/agent-settings.ts';
export type { AgentLimits, ChildAgent, InstructionsInput, Permissions } from './agent/options/option-types.ts';
export type { OutputOf } from './agent/options/output-options.ts';
export type { RunEventOf } from './agent/run/typed-events.ts';
export type { ToolRegistry, ToolRegistryOptions } from './agent/tools/registry.ts';
export type { ConversationErrorCode, ResumeErrorCode } from './agent/options/agent-errors.ts';
export type {
  AgentLogicInput,
  ApprovalOptions,
  ConfigurableOptions,
  ConversationOptions,
  Delivery,
  QueueOptions,
  ResumeOptions,
  RunOptions,
  SteerOptions,
} from './agent/options/run-options.ts';
export type { PendingApproval, Run, RunState } from './agent/run/run.ts';
export type { InputPart, RunInput } from './agent/options/input-parts.ts';
export type { JournalStore } from './journal/run/run-journal.ts';
export type { RunEvent, RunEventBody, Transition } from './machines/events/run-events.ts';
export type {
  AgentPath,
  AnyResult,
  AgentState,
  ErrorEntry,
  RunReason,
  RunResult,
  RunStatus,
  UndeliveredMessage,
} from './machines/contract/run-result.ts';
export type { PromptParts } from './machines/agent/system-prompt.ts';
export type { McpServerConfig } from './mcp/config/config.ts';
export type { McpConnection } from './mcp/connection-types.ts';
export type { ConsoleOutput } from './output/console/console-output.ts';
export type { OutputHandler, OutputStats } from './output/output-handler.ts';
export type { Json, JsonObject, JsonSchema } from './json/json.ts';
export type {
  DeserializationError,
  EscalationError,
  ExecutionError,
  InvalidArgs,
  Issue,
  Severity,
  ToolError,
  UnknownTool,
} from './json/errors.ts';
export type { PlanStep } from './parsing/calls/call-forms.ts';
export type { Repair } from './parsing/repair/repairs.ts';
export type { Backoff } from './recovery/backoff.ts';
export type { OnError, RecoveryStep, Repaired, Repairer, RepairTask, Slot } from './recovery/steps.ts';
export type { OnEscalation, Verdict, Verdicts } from './recovery/verdicts.ts';
export type { ArgsOf, InputOf, InputSchema, StandardSchema } from './tools/schema.ts';
export type { Skill, SkillDefinition } from './tools/skill.ts';
export type { Effects, Policy, ToolChange, ToolSpec } from './tools/spec.ts';
export type { ToolResult } from './tools/result.ts';
export type { ExecuteContext, ProgressReport, Tool, ToolDefinition, TypedTool, ValidateContext } from './tools/tool.ts';
