import type { AnyStateMachine, AnyStateNode, StateValueFrom } from 'xstate';
import type { agentMachine } from '../../machines/agent/agent.ts';
import type { PathOf } from '../../machines/events/transition-log.ts';
import type { llmCallMachine } from '../../machines/llm-call/llm-call.ts';
import type { mcpCallMachine } from '../../machines/mcp/mcp-call-machine.ts';
import type { mcpConnectionMachine } from '../../machines/mcp/mcp-connection.ts';
import type { mcpTaskMachine } from '../../machines/mcp/mcp-task.ts';
import type { loopDetectionMachine } from '../../machines/tool-call/loop-detection.ts';
import type { toolCallMachine } from '../../machines/tool-call/tool-call.ts';
import { TONES, type Tone } from './protocol.ts';

/** States of a machine whose tone is not that of the state around them. A state that is renamed no longer compiles here. */
type TonesOf<TMachine extends AnyStateMachine> = {
  readonly [path in PathOf<TMachine> | keyof Extract<StateValueFrom<TMachine>, object>]?: Tone;
};

const AGENT: TonesOf<typeof agentMachine> = {
  'PLANNING.ASKING': 'model',
  'EXECUTING_PLAN.RUNNING_STEP': 'tool',
  'DIRECT_EXECUTION.RUNNING_CALLS': 'tool',
  ERROR_RECOVERY: 'caution',
  'ERROR_RECOVERY.ASKING_HUMAN': 'wait',
  COMPLETION: 'end',
};
const LLM_CALL: TonesOf<typeof llmCallMachine> = {
  ATTEMPTING: 'model',
  FALLING_OVER: 'caution',
  BACKING_OFF: 'pause',
  SUCCEEDED: 'done',
  FAILED: 'danger',
};
const TOOL_CALL: TonesOf<typeof toolCallMachine> = {
  AWAITING_APPROVAL: 'wait',
  RUNNING: 'tool',
  DELEGATING: 'tool',
  RECOVERING: 'caution',
  'RECOVERING.BACKING_OFF': 'pause',
  SUCCEEDED: 'done',
  DENIED: 'caution',
  FED_BACK: 'danger',
  ESCALATED: 'danger',
  THROWN: 'danger',
};
const LOOP_DETECTION: TonesOf<typeof loopDetectionMachine> = { SUSPICIOUS: 'caution', LOOPING: 'danger' };
const MCP_CONNECTION: TonesOf<typeof mcpConnectionMachine> = {
  READY: 'done',
  SUSPECT: 'caution',
  BACKING_OFF: 'pause',
  FAILED: 'danger',
  'AUTHORIZING.AWAITING_USER': 'wait',
  NEEDS_LOGIN: 'caution',
  AUTH_REQUIRED: 'caution',
  STOPPED: 'end',
};
const MCP_CALL: TonesOf<typeof mcpCallMachine> = {
  WAITING: 'pause',
  'UNDER_WAY.SENT': 'tool',
  'UNDER_WAY.RESTING': 'pause',
  ANSWERED: 'done',
  FAILED: 'danger',
  LOST: 'caution',
  REFUSED: 'caution',
  CANCELLED: 'caution',
  TIMED_OUT: 'danger',
};
const MCP_TASK: TonesOf<typeof mcpTaskMachine> = {
  WAITING: 'pause',
  POLLING: 'tool',
  CANCELLING: 'caution',
  SUCCEEDED: 'done',
  FAILED: 'danger',
  CANCELLED: 'caution',
};

/** Those of our own machines, by id. */
const OWN: ReadonlyMap<string, ReadonlyMap<string, Tone | undefined>> = new Map(
  Object.entries<{ readonly [path: string]: Tone | undefined }>({
    agent: AGENT,
    llmCall: LLM_CALL,
    toolCall: TOOL_CALL,
    loopDetection: LOOP_DETECTION,
    mcpConnection: MCP_CONNECTION,
    mcpCall: MCP_CALL,
    mcpTask: MCP_TASK,
  }).map(([id, tones]) => [id, new Map(Object.entries(tones))]),
);

/**
 * What a state means, never guessed from its name: what is known of our own machines, else what the state says of itself in
 * `meta.tone`, else that it is final. Undefined: nothing in particular.
 */
export function stateTone({ machine, path, meta, type }: AnyStateNode): Tone | undefined {
  const own = isOurs(machine) ? OWN.get(machine.id)?.get(path.join('.')) : undefined;
  const said: unknown = Reflect.get(Object(meta), 'tone');
  return own ?? TONES.find((tone) => tone === said) ?? (type === 'final' ? 'end' : undefined);
}

/** How a machine ended, by its output; undefined where it does not say, or has not ended. */
export function endingTone({
  status,
  output,
}: {
  readonly status: string;
  readonly output?: unknown;
}): Tone | undefined {
  if (status === 'error') return 'danger';
  if (status !== 'done' || typeof output !== 'object' || output === null) return undefined;
  return RESULTS.get(Reflect.get(output, 'status'));
}

/** The statuses of a run's result. */
const RESULTS: ReadonlyMap<unknown, Tone> = new Map([
  ['answered', 'done'],
  ['stopped', 'caution'],
  ['cancelled', 'caution'],
  ['failed', 'danger'],
] as const);

/** A foreign machine may have the id of one of ours, but is unlikely to have its states. */
function isOurs({ id, root }: AnyStateMachine): boolean {
  const tones = OWN.get(id);
  return tones !== undefined && [...tones.keys()].every((path) => hasState(root, path.split('.')));
}

function hasState(node: AnyStateNode, [name, ...rest]: readonly string[]): boolean {
  const child = name === undefined ? undefined : node.states[name];
  return name === undefined || (child !== undefined && hasState(child, rest));
}
