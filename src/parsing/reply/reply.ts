import type { Json } from '../../json/json.ts';
import type { PlanStep, ToolCallRequest } from '../calls/call-forms.ts';
import type { Repair } from '../repair/repairs.ts';

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
