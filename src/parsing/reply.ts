import type { Issue } from '../json/errors.ts';
import type { Json } from '../json/json.ts';

/** One change that the parser made to what the model wrote. `cost` ranks readings: 0 loses nothing, higher is bolder. */
export interface Repair {
  readonly kind: string;
  readonly message: string;
  readonly at?: number;
  readonly path?: string;
  readonly cost: number;
}

/** A tool call as the model asked for it. `complete: false`: its arguments were cut off, so it never runs. */
export interface ToolCallRequest {
  readonly id?: string;
  readonly name: string;
  readonly args: Json;
  readonly complete: boolean;
  readonly issues?: readonly Issue[];
}

/** One step of a plan. `args` may hold `$PREV.field` and `$STEP_n.field` placeholders. */
export interface PlanStep {
  readonly tool: string;
  readonly args: Json;
  readonly complete: boolean;
}

/** How a reply was read, in the order in which the ways are tried. */
export type Strategy = 'direct' | 'dialect' | 'code-block' | 'balanced' | 'repaired' | 'fields' | 'text';

/** A model's reply, read: what it thinks, what it wants, and how that was recovered from its text. */
export interface Reply {
  readonly thought: string;
  readonly goal: string;
  readonly answer?: string;
  readonly calls: readonly ToolCallRequest[];
  readonly plan?: readonly PlanStep[];
  /** Set when the reply holds a plan that cannot be run; says why. */
  readonly planError?: string;
  readonly strategy: Strategy;
  readonly dialect?: string;
  readonly complete: boolean;
  /** Several readings of equal rank and different value: none is run, the model is asked. */
  readonly ambiguous?: readonly Json[];
  readonly repairs: readonly Repair[];
}
