import type { AnyStateMachine } from 'xstate';
import { agentMachine } from '../../machines/agent/agent.ts';
import { llmCallMachine } from '../../machines/llm-call/llm-call.ts';
import { loopDetectionMachine } from '../../machines/tool-call/loop-detection.ts';
import { mcpConnectionMachine } from '../../machines/mcp/mcp-connection.ts';
import { mcpTaskMachine } from '../../machines/mcp/mcp-task.ts';
import { toolCallMachine } from '../../machines/tool-call/tool-call.ts';

/** Signalbox's own machines, by their names. */
export const OWN_MACHINES: ReadonlyMap<string, AnyStateMachine> = new Map<string, AnyStateMachine>(
  [agentMachine, llmCallMachine, toolCallMachine, loopDetectionMachine, mcpConnectionMachine, mcpTaskMachine].map(
    (machine) => [machine.id, machine],
  ),
);
