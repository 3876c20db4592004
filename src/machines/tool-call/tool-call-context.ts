import type { Spent } from '../contract/run-result.ts';
import type { CheckedArguments } from '../../parsing/calls/arguments.ts';
import type { EscalationError, Severity, ToolError } from '../../json/errors.ts';
import type { JsonObject } from '../../json/json.ts';
import type { RecoveryData } from '../../recovery/plan-data.ts';
import type { Denial } from '../../tools/error-text.ts';
import type { ToolResult } from '../../tools/result.ts';
import { lookUp } from '../../tools/lookup.ts';
import { isSameTool, reasonToAsk } from '../../tools/server-tool.ts';
import { type ToolSpec, heldTo, permissionOf } from '../../tools/spec.ts';
import { type AgentSettings, type ChildSetup, type ToolsChanged, childrenAfter } from '../contract/agent-setup.ts';
import type { CallRequest } from './call-request.ts';
import type { LoopVerdict } from './loop-detection.ts';
import type { RecoveryProgress } from './recovery-progress.ts';

/** What a call is given. */
export interface ToolCallInput {
  readonly request: CallRequest;
  readonly tools: readonly ToolSpec[];
  readonly verdict: LoopVerdict;
  readonly settings: AgentSettings;
  /** The agent that calls. */
  readonly caller: Caller;
}

/** What a call knows of the agent that makes it. */
export interface Caller {
  /** Where it is in the tree of agents; empty for the root. */
  readonly agent: string;
  /** The agents below it. */
  readonly children: readonly ChildSetup[];
  /** What is left of the run's budget, for an agent below. */
  readonly budget: AgentSettings['budget'];
  /** What it does about errors of unknown tools. */
  readonly recovery: RecoveryData;
}

/** A caller that is not an agent: a registry. */
export const NO_CALLER: Caller = {
  agent: '',
  children: [],
  budget: { maxToolCalls: null, maxTokens: null },
  recovery: {},
};

/**
 * A person's answer to a call that waits, from outside. Nothing but the type is needed: the call runs once, with the
 * arguments that it has; it is refused without a reason.
 */
export type ApprovalEvent =
  | {
      readonly type: 'approval.given';
      readonly always?: boolean;
      readonly args?: JsonObject | null;
      readonly reason?: string;
    }
  | { readonly type: 'approval.refused'; readonly reason?: string }
  | { readonly type: 'approval.expired' };

/** A call that is not repaired below. `handedUp`: a child escalated, with this message. */
export interface GaveUp {
  readonly kind: 'escalated' | 'thrown';
  readonly reason: string;
  readonly severity: Severity;
  readonly handedUp?: EscalationError;
  /** The repair agent that could not repair it. */
  readonly by?: string;
}

/** How often a call has reached its tool, and whether it has with the arguments as they stand: only then it may again. */
export interface Ran {
  readonly times: number;
  readonly asItStands: boolean;
}

/** A call that has not reached its tool. */
export const NEVER_RAN: Ran = { times: 0, asItStands: false };

/** The memory of one call: eighteen members at most, like that of a run. */
export interface ToolCallContext extends ToolCallInput {
  readonly spec: ToolSpec | null;
  readonly suggestions: readonly string[];
  /** The name was misspelt; the model is told. */
  readonly renamed: boolean;
  /** The arguments as they stand: what the model wrote, then checked and coerced, then perhaps edited by a person. */
  readonly args: JsonObject;
  readonly check: CheckedArguments | null;
  /** Whether somebody agreed to these arguments: a person, or the tool's own `needsApproval`. */
  readonly approved: boolean | 'by-code';
  /** What the person who approved it said. */
  readonly approvalReason?: string | undefined;
  readonly error: ToolError | null;
  readonly denial: Denial | null;
  readonly result: ToolResult | null;
  readonly ran: Ran;
  readonly progress: RecoveryProgress;
  /** Set if recovery ended in its own way. */
  readonly gaveUp: GaveUp | null;
  /** What agents below this call used. */
  readonly spent: Spent;
}

/** Finds the tool that is meant. A caller with its own steps for unknown names receives misspelt ones too. */
export function toolNamed({
  request,
  tools,
  caller: { recovery },
}: ToolCallInput): Pick<ToolCallContext, 'spec' | 'suggestions' | 'renamed'> {
  const found = lookUp(tools, request.tool);
  if (!found.ok) return { spec: null, suggestions: found.suggestions, renamed: false };
  if (found.repaired && recovery.unknownTool !== undefined)
    return { spec: null, suggestions: [found.spec.name], renamed: false };
  return { spec: found.spec, suggestions: [], renamed: found.repaired };
}

/**
 * The current permission of a call's tool; a person who agreed to the call has agreed to it as it is. Code has only as
 * long as it decides at all.
 */
export function permitted({ spec, approved }: Pick<ToolCallContext, 'spec' | 'approved'>): 'run' | 'ask' | 'never' {
  if (spec === null) return 'never';
  const isAgreed = approved === 'by-code' ? spec.needsApproval === true : approved;
  const permission = permissionOf(spec);
  return permission === 'ask' && isAgreed ? 'run' : permission;
}

/** Why a person is asked about a call. */
export function askedBecause({ spec, request }: Pick<ToolCallContext, 'spec' | 'request'>): string {
  return reasonToAsk(spec ?? { name: request.tool });
}

/** How long a question may wait, as its event states it. */
export function limitOf({ approvalMs }: { readonly approvalMs: number | null }): { readonly limitMs?: number } {
  return approvalMs === null ? {} : { limitMs: approvalMs };
}

/**
 * A call under way takes over what has become stricter about its tool, and about the agent that it may hand its task to. A
 * server's tool that is now a different one, or has another description, is taken as it is now: agreement was to the old one.
 */
export function callAfter(context: ToolCallContext, { toolset, children, restart }: ToolsChanged) {
  const { spec, caller, approved } = context;
  const now = toolset.tools.find(({ name }) => name === spec?.name);
  const below =
    children === undefined ? caller.children : childrenAfter(caller.children, children, restart !== undefined);
  const known = spec === null || now === undefined || isSameTool(spec, now);
  return {
    spec:
      spec === null || now === undefined ? spec : known ? heldTo(spec, now) : { ...now, ...barsOf(heldTo(spec, now)) },
    approved: known && approved,
    caller: { ...caller, children: below },
  };
}

function barsOf({ policy, enabled, alwaysAllowed }: ToolSpec) {
  return { policy, enabled, alwaysAllowed };
}

/** True for a question to a person that now concerns a different tool, or one that may not run at all. */
export function mustAskAnew(context: ToolCallContext, changed: ToolsChanged): boolean {
  const after = callAfter(context, changed);
  if (permitted({ ...context, ...after }) === 'never') return true;
  return context.spec !== null && after.spec !== null && !isSameTool(context.spec, after.spec);
}

/** True for a running call that was resumed with the run and may no longer run as it is. */
export function mustBeCheckedAgain(context: ToolCallContext, changed: ToolsChanged): boolean {
  const { restart } = changed;
  if (restart === undefined || restart.notRepeated.includes(context.request.callId)) return false;
  return permitted({ ...context, ...callAfter(context, changed) }) !== 'run';
}

/** A tool that was wanted when the run was interrupted, and had not been started, has not run. */
export function startForgotten({ ran, request }: ToolCallContext, { restart }: ToolsChanged) {
  const hasBegun = restart === undefined || restart.begun.includes(request.callId);
  return hasBegun ? {} : { ran: { times: ran.times - 1, asItStands: false } };
}
