import type { AnyStateMachine } from 'xstate';
import { agentMachine } from '../../machines/agent.ts';
import { llmCallMachine } from '../../machines/llm-call.ts';
import { loopDetectionMachine } from '../../machines/loop-detection.ts';
import { mcpConnectionMachine } from '../../machines/mcp-connection.ts';
import { mcpTaskMachine } from '../../machines/mcp-task.ts';
import { toolCallMachine } from '../../machines/tool-call.ts';

/** Signalbox's own machines, by their names. */
export const OWN_MACHINES: ReadonlyMap<string, AnyStateMachine> = new Map<string, AnyStateMachine>(
  [agentMachine, llmCallMachine, toolCallMachine, loopDetectionMachine, mcpConnectionMachine, mcpTaskMachine].map(
    (machine) => [machine.id, machine],
  ),
);
