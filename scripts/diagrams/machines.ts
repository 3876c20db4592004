import type { AnyStateMachine } from 'xstate';
import { agentMachine } from '../../src/machines/agent.ts';
import { llmCallMachine } from '../../src/machines/llm-call.ts';
import { loopDetectionMachine } from '../../src/machines/loop-detection.ts';
import { mcpConnectionMachine } from '../../src/machines/mcp-connection.ts';
import { toolCallMachine } from '../../src/machines/tool-call.ts';

/** The machines that the documents draw, by the names that stand in their markers. */
export const MACHINES: ReadonlyMap<string, AnyStateMachine> = new Map<string, AnyStateMachine>(
  [agentMachine, llmCallMachine, toolCallMachine, loopDetectionMachine, mcpConnectionMachine].map((machine) => [
    machine.id,
    machine,
  ]),
);
