import type { Effect, LeafError, Outcome } from '../../../actors/journal.ts';
import type { Json, JsonSchema } from '../../../json/json.ts';

/** One thing that can come of a leaf, standing for all that the machines treat alike. The label names it in a path. */
export type Representative =
  | { readonly label: string; readonly value: Json }
  | { readonly label: string; readonly error: LeafError };

/** A tool as an exploration knows it. */
export interface KnownTool {
  readonly name: string;
  readonly inputSchema: JsonSchema;
  /** Whether the machine may run it at all; calls of others are explored too. */
  readonly usable: boolean;
}

/** Where a leaf was started, for those who say what can come of it. */
export interface LeafScene {
  readonly effect: Effect;
  /** The tools of the agent that the leaf belongs to. */
  readonly tools: readonly KnownTool[];
  /** Arguments that a tool takes; undefined when none could be made up of its schema. */
  readonly argumentsFor: (tool: KnownTool) => Json | undefined;
  /** The model is asked once more in the same turn. Its reply is handed on unread, so one of each sort will do. */
  readonly again: boolean;
  /** How many tokens a reply is to cost; null when nobody counts. */
  readonly tokens: number | null;
}

/** What can come of a leaf. */
export type OutcomesOf = (scene: LeafScene) => readonly Representative[];

/** The outcome as a machine is told it. */
export function outcomeOf(representative: Representative): Outcome {
  return 'error' in representative
    ? { ok: false, error: representative.error }
    : { ok: true, value: representative.value };
}

/** A failure with a stable code. */
export function fails(label: string, code: string, message: string, data?: Json): Representative {
  return { label, error: data === undefined ? { code, message } : { code, message, data } };
}
