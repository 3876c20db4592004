import type { AnyActorRef } from 'xstate';
import type { RunFixerOutput } from '../../actors/tool-call/run-fixer.ts';
import type { ToolError } from '../../json/errors.ts';
import { isJsonObject } from '../../json/json.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { AgentInput, AgentSettings, ChildSetup, ToolsChanged } from '../contract/agent-setup.ts';
import {
  type AgentOutput,
  NOTHING_SPENT,
  type RunUsage,
  type Spent,
  endingInWords,
  spentTogether,
} from '../contract/run-result.ts';
import type { CallOutcome } from './call-request.ts';
import type { ToolCallContext } from './tool-call-context.ts';

/** What an agent receives when another delegates a task to it. `budget` is what is left for it. */
export function childInput(child: {
  readonly setup: ChildSetup | undefined;
  readonly task: string;
  readonly agent: string;
  readonly callId: string;
  readonly budget: AgentSettings['budget'];
}): AgentInput {
  const { setup, task, agent, callId, budget } = child;
  const place = {
    agent: agent === '' ? (setup?.tool ?? '') : `${agent}/${setup?.tool ?? ''}`,
    callPrefix: `${callId}.`,
  };
  if (setup === undefined)
    return { task, place, refused: { code: 'no-agent', message: 'this agent is not part of the run' } };
  const { settings } = setup.setup;
  return {
    task,
    history: [],
    place,
    setup: { ...setup.setup, settings: { ...settings, budget: smaller(settings.budget, budget) } },
  };
}

/** What an agent below receives about a change of its tools; null if there is none. */
export function changeBelow({ children, restart }: ToolsChanged, tool: string | undefined): ToolsChanged | null {
  const setup = children?.find((child) => child.tool === tool)?.setup;
  if (setup === undefined) return null;
  const { toolset, children: below } = setup;
  return { type: 'tools.changed', toolset, children: below, ...(restart === undefined ? {} : { restart }) };
}

function smaller(own: AgentSettings['budget'], left: AgentSettings['budget']): AgentSettings['budget'] {
  return {
    maxToolCalls: least(own.maxToolCalls, left.maxToolCalls),
    maxTokens: least(own.maxTokens, left.maxTokens),
  };
}

function least(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

/** What a child used, its own children included. */
export function spentBy({ usage, nested }: AgentOutput): Spent {
  return { usage, toolCalls: nested?.toolCalls ?? 0 };
}

/** Adds what these children of an actor have used so far, if they are stopped without an output, and all below them. */
export function withSpentByStopped(spent: Spent, self: Stopping, ids: readonly string[]): Spent {
  const snapshot: unknown = ids.length === 0 ? null : self.getSnapshot();
  if (!isSnapshot(snapshot)) return spent;
  return ids.reduce((sum, id) => withSpentUntilNow(sum, snapshot.children?.[id]), spent);
}

function withSpentUntilNow(sum: Spent, actor: AnyActorRef | undefined): Spent {
  const snapshot: unknown = actor?.getSnapshot();
  if (!isSnapshot(snapshot) || snapshot.output !== undefined) return sum;
  const { context, children = {} } = snapshot;
  const own =
    'stats' in context
      ? Object.values(context.batch?.outcomes ?? {}).reduce(withOutcome, spentInTurns(context.stats))
      : withOutcome(NOTHING_SPENT, { ran: context.ran.times > 0, spent: context.spent });
  return Object.values(children).reduce(withSpentUntilNow, spentTogether(sum, own));
}

/** Those of an actor's calls that have not reached their tools: they wait for a person, or for a check. */
export function callsNotBegun(self: Stopping, ids: readonly string[]): ReadonlySet<string> {
  const snapshot: unknown = ids.length === 0 ? null : self.getSnapshot();
  const children = isSnapshot(snapshot) ? (snapshot.children ?? {}) : {};
  return new Set(
    ids.filter((id) => {
      const call: unknown = children[id]?.getSnapshot();
      return isSnapshot(call) && 'ran' in call.context && call.context.ran.times === 0;
    }),
  );
}

function spentInTurns({ usage, toolCallsRun }: StoppableAgent['stats']): Spent {
  return { usage, toolCalls: toolCallsRun };
}

/** Adds a call, and what agents below it have used. */
function withOutcome(sum: Spent, { ran, spent = NOTHING_SPENT }: Pick<CallOutcome, 'ran' | 'spent'>): Spent {
  return spentTogether(sum, { usage: spent.usage, toolCalls: spent.toolCalls + (ran ? 1 : 0) });
}

/** An actor whose children are stopped. */
export type Stopping = Pick<AnyActorRef, 'getSnapshot'>;

/** What is read of the snapshot of an agent, or of a call. */
interface Stoppable {
  readonly context: StoppableAgent | Pick<ToolCallContext, 'ran' | 'spent'>;
  readonly children?: { readonly [id: string]: AnyActorRef | undefined };
  readonly output?: object;
}

interface StoppableAgent {
  readonly stats: { readonly usage: RunUsage; readonly toolCallsRun: number };
  /** Calls of a turn that is not over: none of them is in `stats` yet. */
  readonly batch: { readonly outcomes: { readonly [callId: string]: CallOutcome } } | null;
}

function isSnapshot(value: unknown): value is Stoppable {
  if (!isJsonObject(value) || !isJsonObject(value.context)) return false;
  return 'stats' in value.context || 'ran' in value.context;
}

/** The result of a call whose child answered, or stopped with a partial result. */
export function childResult(child: Pick<AgentOutput, 'result' | 'status' | 'reason' | 'output'>): ToolResult {
  const { result, status, reason, output = result } = child;
  return status === 'answered'
    ? { status: 'success', data: output }
    : { status: 'partial', data: output, message: `The agent stopped before it was done (${reason}).` };
}

/** A child that failed, as the error of the call that it was. */
export function childError({ args, spec, request }: ToolCallContext, output: AgentOutput): ToolError {
  const { reason, error } = output;
  return {
    kind: 'execution',
    tool: spec?.name ?? request.tool,
    args,
    cause: { name: 'AgentFailed', message: endingInWords(output), code: error?.code ?? reason },
    timedOut: false,
  };
}

/** What is left of the run's budget for an agent below a call. */
export function budgetBelow({ caller, spent }: ToolCallContext): AgentSettings['budget'] {
  const { maxToolCalls, maxTokens } = caller.budget;
  return {
    maxToolCalls: maxToolCalls === null ? null : Math.max(0, maxToolCalls - spent.toolCalls),
    maxTokens: maxTokens === null ? null : Math.max(0, maxTokens - spent.usage.totalTokens),
  };
}

/** What was used below a call, the tokens of a repair agent added. */
export function repairCounted({ spent }: ToolCallContext, output: RunFixerOutput): Spent {
  return 'usage' in output && output.usage !== undefined
    ? spentTogether(spent, { usage: output.usage, toolCalls: 0 })
    : spent;
}

/** True when the tokens that the run was given are used up, so that no repair agent may be asked. */
export function areTokensSpent({ caller, spent }: ToolCallContext): boolean {
  const { maxTokens } = caller.budget;
  return maxTokens !== null && spent.usage.totalTokens >= maxTokens;
}
