import './platform.ts';
export { createAgent } from './agent/create-agent.ts';
export { AgentBusyError, AgentClosedError, ResumeError, RunError, ToolExecutionError } from './agent/errors.ts';
export { createToolRegistry } from './agent/registry.ts';
export { ReplayDivergenceError } from './journal/replay/divergence.ts';
export { AGENT_STATES } from './machines/contract/run-result.ts';
export { consoleOutput } from './output/console-output.ts';
export { silentOutput } from './output/silent-output.ts';
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
  AgentLogicInput,
  AgentLogicSnapshot,
  ConfigurableOptions,
  ListedTool,
} from './agent/agent-types.ts';
export type { ChildAgent } from './agent/below/child-tools.ts';
export type { AgentOptions, InstructionsInput } from './agent/options.ts';
export type { RunEventOf } from './agent/run/typed-events.ts';
export type { Permissions } from './agent/granted.ts';
export type { ToolRegistry, ToolRegistryOptions } from './agent/registry.ts';
export type { AgentLimits, RunOptions } from './agent/run/run-options.ts';
export type { ResumeErrorCode } from './agent/errors.ts';
export type { ResumeOptions } from './agent/past/resume-run.ts';
export type { ApprovalOptions, PendingApproval, Run, RunState } from './agent/run/run.ts';
export type { JournalStore } from './journal/run/run-journal.ts';
export type { RunEvent, RunEventBody, Transition } from './machines/events/run-events.ts';
export type {
  AgentPath,
  AgentState,
  ErrorEntry,
  RunReason,
  RunResult,
  RunStatus,
} from './machines/contract/run-result.ts';
export type { PromptParts } from './machines/agent/system-prompt.ts';
export type { McpServerConfig } from './mcp/config/config.ts';
export type { McpConnection } from './mcp/connection-types.ts';
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
export type { PlanStep, Repair } from './parsing/reply.ts';
export type { Backoff } from './recovery/backoff.ts';
export type { OnError, RecoveryStep, Repaired, Repairer, RepairTask, Slot } from './recovery/steps.ts';
export type { OnEscalation, Verdict, Verdicts } from './recovery/verdicts.ts';
export type { InputOf, InputSchema, StandardSchema } from './tools/schema.ts';
export type { Skill, SkillDefinition } from './tools/skill.ts';
export type { Effects, Policy, ToolSpec } from './tools/spec.ts';
export type { ToolResult } from './tools/result.ts';
export type { ExecuteContext, Tool, ToolDefinition, TypedTool, ValidateContext } from './tools/tool.ts';
