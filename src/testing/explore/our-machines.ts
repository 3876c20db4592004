import type { SnapshotFrom } from 'xstate';
import { agentMachine } from '../../machines/agent/agent.ts';
import { llmCallMachine } from '../../machines/llm-call/llm-call.ts';
import { loopDetectionMachine } from '../../machines/tool-call/loop-detection.ts';
import { mcpConnectionMachine } from '../../machines/mcp/mcp-connection.ts';
import { toolCallMachine } from '../../machines/tool-call/tool-call.ts';
import type { MachineState } from './walk/live-actors.ts';

/** Tells whose snapshot it is, also when guards, actions or actors of the machine were provided anew. */
const isOf = (machine: { readonly config: object }, snapshot: MachineState): boolean =>
  snapshot.machine.config === machine.config;

/** True for a snapshot of the agent machine. */
export function isAgent(snapshot: MachineState): snapshot is SnapshotFrom<typeof agentMachine> {
  return isOf(agentMachine, snapshot);
}

/** True for a snapshot of the llmCall machine. */
export function isLlmCall(snapshot: MachineState): snapshot is SnapshotFrom<typeof llmCallMachine> {
  return isOf(llmCallMachine, snapshot);
}

/** True for a snapshot of the toolCall machine. */
export function isToolCall(snapshot: MachineState): snapshot is SnapshotFrom<typeof toolCallMachine> {
  return isOf(toolCallMachine, snapshot);
}

/** True for a snapshot of the loopDetection machine. */
export function isLoopDetection(snapshot: MachineState): snapshot is SnapshotFrom<typeof loopDetectionMachine> {
  return isOf(loopDetectionMachine, snapshot);
}

/** True for a snapshot of the mcpConnection machine. */
export function isMcpConnection(snapshot: MachineState): snapshot is SnapshotFrom<typeof mcpConnectionMachine> {
  return isOf(mcpConnectionMachine, snapshot);
}
