import type { Severity, ToolError } from '../json/errors.ts';
import type { Json, JsonSchema } from '../json/json.ts';
import type { Backoff } from './backoff.ts';

/** What a repair agent receives about a call that failed. */
export interface RepairTask {
  readonly tool: string;
  readonly description: string;
  readonly schema: JsonSchema;
  /** The arguments as the model wrote them. */
  readonly raw: string;
  readonly issues: readonly string[];
  /** What was tried before, oldest first. */
  readonly attempts: readonly { readonly arguments: string; readonly error: string }[];
}

/** What a repair agent returns (`value` null: it cannot repair the arguments), and the tokens that it used, if known. */
export type Repaired = RepairOutcome & {
  readonly usage?: Usage & { readonly byModel?: { readonly [model: string]: Usage } };
};

/** Tokens, as a model counts them. */
interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
}

type RepairOutcome =
  | { readonly kind: 'arguments'; readonly value: string | { readonly [key: string]: Json } | null }
  | { readonly kind: 'escalate'; readonly reason: string; readonly severity: Severity }
  | { readonly kind: 'throw'; readonly reason: string };

/** What can repair arguments: an agent, model-driven or deterministic. */
export interface Repairer {
  readonly name: string;
  repair(task: RepairTask, io: { readonly signal: AbortSignal }): Promise<Repaired>;
}

type Maybe<T> = T | null | undefined | Promise<T | null | undefined>;

/** Repairs argument text: gives new text or an object, or null when it cannot. */
export type FixFunction = (text: string, error: ToolError) => Maybe<string | { readonly [key: string]: Json }>;

/** Cleans decoded arguments: gives them back cleaned, or null when there is nothing to clean. */
export type SanitizeFunction = (value: Json, error: ToolError) => Maybe<Json>;

/** Returns a result in place of the call's own, or null when it has none. The error is passed twice: as second it is for the others too. */
export type SubstituteFunction = (error: ToolError, same: ToolError) => Maybe<unknown>;

/** One step of recovery, as `recover.…` makes it. */
export type RecoveryStep =
  | { readonly kind: 'fix'; readonly fix: FixFunction }
  | { readonly kind: 'fix-agent'; readonly agent: Repairer; readonly retries: number }
  | { readonly kind: 'sanitize'; readonly sanitize: SanitizeFunction }
  | { readonly kind: 'substitute'; readonly substitute: SubstituteFunction }
  | RetryStep
  | { readonly kind: 'inherit' }
  | TerminalStep;

/** Calls the tool again with the same arguments. `maxAttempts` counts the first; `backoff` null means at once. */
export interface RetryStep {
  readonly kind: 'retry';
  readonly maxAttempts: number;
  readonly backoff: Backoff | null;
  /** Also when it is unknown whether the failed call took effect. */
  readonly whenUnknown: boolean;
}

/** A step after which nothing else is tried. `reason` null: the error's own text. */
export type TerminalStep =
  | { readonly kind: 'feedback' }
  | { readonly kind: 'escalate'; readonly reason: string | null; readonly severity: Severity }
  | { readonly kind: 'throw'; readonly reason: string | null };

/** A step, a list of steps tried in order, or a function that chooses by the error (null: not handled). */
export type Slot =
  | RecoveryStep
  | readonly RecoveryStep[]
  | ((error: ToolError) => Maybe<RecoveryStep | readonly RecoveryStep[]>);

/** What to do about each kind of tool error. A slot that is left out is inherited. */
export interface OnError {
  readonly invalidArgs?: Slot | undefined;
  readonly deserializationError?: Slot | undefined;
  readonly executionError?: Slot | undefined;
  readonly unknownTool?: Slot | undefined;
}

/** The names of the slots. */
export const SLOTS = ['invalidArgs', 'deserializationError', 'executionError', 'unknownTool'] as const;

/** A slot's name. */
export type SlotName = (typeof SLOTS)[number];

/** The slot that an error belongs to; null for an escalation, which nothing below repairs. */
export const slotOf = ({ kind }: ToolError): SlotName | null => SLOT_OF[kind];

const SLOT_OF: { readonly [kind in ToolError['kind']]: SlotName | null } = {
  'invalid-args': 'invalidArgs',
  deserialization: 'deserializationError',
  execution: 'executionError',
  'unknown-tool': 'unknownTool',
  escalation: null,
};
