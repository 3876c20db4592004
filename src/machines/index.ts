import '../platform.ts';
export { observeRun } from './events/observe-run.ts';
export { agentMachine } from './agent/agent.ts';
export { llmCallMachine } from './llm-call/llm-call.ts';
export { loopDetectionMachine } from './tool-call/loop-detection.ts';
export { mcpCallMachine } from './mcp/mcp-call-machine.ts';
export { mcpConnectionMachine } from './mcp/mcp-connection.ts';
export { mcpTaskMachine } from './mcp/mcp-task.ts';
export { toolCallMachine } from './tool-call/tool-call.ts';
export type { AgentEvent } from './agent/agent-parts.ts';
export type { AgentContext } from './agent/agent-context.ts';
export type {
  AgentInput,
  AgentSettings,
  AgentSetup,
  OutputSpec,
  ServerNote,
  Toolset,
  ToolsChanged,
} from './contract/agent-setup.ts';
export type { CallOutcome, CallRequest } from './tool-call/call-request.ts';
export type { LlmCallContext, LlmCallInput, LlmCallMachine, LlmCallOutput } from './llm-call/llm-call.ts';
export type { CallProposed, LoopContext, LoopVerdict, RoundSettled } from './tool-call/loop-detection.ts';
export type { RunEvent, RunEventBody, Transition } from './events/run-events.ts';
export type { AgentOutput, AgentState, ChildAgentLogic, ErrorEntry } from './contract/run-result.ts';
export type { RunReason, AnyResult, RunStatus } from './contract/run-result.ts';
export type { PlainReason } from './agent/endings.ts';
export type { ToolCallMachine } from './tool-call/tool-call.ts';
export type { ApprovalEvent, ToolCallContext, ToolCallInput } from './tool-call/tool-call-context.ts';
// Of them the types of the machines and of an agent's `actors` are made: a program whose exports are inferred has to name them.
export type { ApprovalAnswer, AskApprovalInput } from '../actors/ask-approval.ts';
export type { AskEscalationInput, AskEscalationOutput } from '../actors/ask-approval.ts';
export type { CallLlmInput } from '../actors/call-llm.ts';
export type { CallToolInput } from '../actors/tool-call/call-tool.ts';
export type { CheckArgsInput, CheckArgsOutput } from '../actors/tool-call/check-args.ts';
export type { RepairAgentSetup, RunFixerInput, RunFixerOutput } from '../actors/tool-call/run-fixer.ts';
export type { StepData } from '../recovery/plan-data.ts';
export type { Denial } from '../tools/error-text.ts';
export type { CheckOutputInput, CheckOutputResult } from '../actors/check-output.ts';
export type { ComposePromptInput, PromptContents, PromptTexts } from '../actors/compose-prompt.ts';
export type { LeafLogic } from '../actors/leaf.ts';
export type { McpGeneration, McpGreeting } from '../actors/mcp/connect-mcp.ts';
export type { McpAuthStep, McpLogin } from '../actors/mcp/mcp-auth.ts';
export type { McpTask, McpTaskBegun, McpTaskInput } from '../actors/mcp/mcp-task-calls.ts';
export type { McpCallContext, McpCallEvent, McpCallInput, McpCallOutcome } from './mcp/mcp-call-machine.ts';
export type { McpConnectionContext, McpConnectionEvent, McpConnectionInput } from './mcp/mcp-connection-parts.ts';
export type { McpTaskContext, McpTaskEvent } from './mcp/mcp-task.ts';
