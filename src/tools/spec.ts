import type { JsonSchema } from '../parsing/json.ts';
import type { RecoveryData } from '../recovery/plan-data.ts';

/** Whether a call may run: at once, after somebody agreed, or never. */
export type Policy = 'allow' | 'confirm' | 'deny';

/**
 * May a call be repeated whose outcome is unknown? `none`: it changes nothing. `idempotent`: twice is the same as once.
 * `once`: never repeated unless the author says so.
 */
export type Effects = 'none' | 'idempotent' | 'once';

/** Where a tool comes from. */
export type ToolOrigin =
  | { readonly kind: 'local' }
  | { readonly kind: 'mcp'; readonly server: string; readonly tool: string }
  /** A child agent: a call hands it a task. */
  | { readonly kind: 'agent' };

/** What the machines know of a tool: plain JSON. Functions stay behind and are looked up by name. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly policy: Policy;
  readonly effects: Effects;
  readonly atomic: boolean;
  readonly polling: boolean;
  readonly enabled: boolean;
  readonly timeoutMs: number;
  readonly origin: ToolOrigin;
  /** A person said "always allow" to this tool of this agent. */
  readonly alwaysAllowed: boolean;
  /** The arguments are also checked by code (a Standard Schema, `validateArgs`), so a leaf is needed. */
  readonly checkedByCode: boolean;
  /** What is done about its errors before the model is told. */
  readonly recovery: RecoveryData;
}
