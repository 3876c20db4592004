import type { AnyActor, AnyStateMachine, StateValue, SnapshotFrom } from 'xstate';
import { isMachineSnapshot, stateText } from '../../../machines/events/transition-log.ts';
import { agentMachine } from '../../../machines/agent/agent.ts';
import { llmCallMachine } from '../../../machines/llm-call/llm-call.ts';
import { loopDetectionMachine } from '../../../machines/tool-call/loop-detection.ts';
import { mcpConnectionMachine } from '../../../machines/mcp/mcp-connection.ts';
import { toolCallMachine } from '../../../machines/tool-call/tool-call.ts';

/** Any machine's snapshot, with an unknown context. */
export interface MachineState {
  readonly machine: AnyStateMachine;
  readonly value: StateValue;
  readonly status: string;
  readonly context: unknown;
  readonly children: { readonly [id: string]: unknown };
  readonly output?: unknown;
  readonly error?: unknown;
}

/** A machine's actor that is there now. */
export interface LiveActor {
  /** The ids from the root down to it, joined with `/`. */
  readonly path: string;
  /** Its state as one dotted path. */
  readonly state: string;
  readonly snapshot: MachineState;
}

/** The machines' actors below a root, itself first. Leaves are not machines. */
export function liveActors(root: AnyActor): readonly LiveActor[] {
  const list: LiveActor[] = [];
  collect(root.id, root.getSnapshot(), list);
  return list;
}

function collect(path: string, snapshot: unknown, list: LiveActor[]): void {
  if (!isMachineSnapshot(snapshot)) return;
  list.push({ path, state: stateText(snapshot.value), snapshot });
  for (const [id, child] of Object.entries(snapshot.children)) {
    if (typeof child === 'object' && child !== null && 'getSnapshot' in child)
      collect(`${path}/${id}`, Reflect.apply(Object(child.getSnapshot), child, []), list);
  }
}

/** Identifies the machine of a snapshot, also if its guards, actions or actors were provided again. */
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
