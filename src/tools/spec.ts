import type { JsonObject, JsonSchema } from '../json/json.ts';
import type { RecoveryData } from '../recovery/plan-data.ts';

/** Which tool of which MCP server a registered tool is: names alone are not unique. */
export interface ToolIdentity {
  /** The server for people: command and arguments, or origin and path; what looks like a secret is left out. */
  readonly address: string;
  /** SHA-256 of command, arguments and folder, or of origin and path. */
  readonly serverId: string;
  /** SHA-256 of title, description, input schema and annotations. */
  readonly fingerprint: string;
  readonly title?: string;
  readonly annotations?: JsonObject;
}

/** What is different from the tool that was always allowed; texts are cut around the difference. */
export interface ToolChange {
  readonly what: 'title' | 'description' | 'input schema' | 'annotations';
  readonly before: string;
  readonly after: string;
}

/** The policies by strictness. {@link permissionOf} defines what each permits. */
export const POLICIES = ['allow', 'confirm', 'deny'] as const;

/** Whether a call may run: at once, after a person agreed, or never. */
export type Policy = (typeof POLICIES)[number];

/**
 * Whether a call may be repeated if its outcome is unknown. `none`: it changes nothing. `idempotent`: twice is the same as once.
 * `once`: never repeated unless the author says so.
 */
export type Effects = 'none' | 'idempotent' | 'once';

/** Where a tool comes from. */
export type ToolOrigin =
  | { readonly kind: 'local' }
  /** `identity`: how permissions identify it. Absent in recordings of 0.1. */
  | { readonly kind: 'mcp'; readonly server: string; readonly tool: string; readonly identity?: ToolIdentity }
  /** A child agent: a call delegates a task to it. */
  | { readonly kind: 'agent' };

/** What the machines know of a tool: plain JSON. Functions are left out and looked up by name. */
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
  /** A person has always allowed this tool for this agent. */
  readonly alwaysAllowed: boolean;
  /** Set if a person did, and this tool of this server has changed since. */
  readonly changes?: readonly ToolChange[];
  /** The arguments are also checked by code (a Standard Schema, `validateArgs`, `needsApproval`), so a leaf is needed. */
  readonly checkedByCode: boolean;
  /** That code says of each call whether a person must approve it. Left out for a tool whose policy holds for all calls. */
  readonly needsApproval?: true;
  /** What to do about its errors before they reach the model. */
  readonly recovery: RecoveryData;
}

/** What a tool may do. It fails closed: an unknown policy blocks the tool, and only a plain `true` opens anything. */
export function permissionOf({ policy, enabled, alwaysAllowed }: ToolSpec): 'run' | 'ask' | 'never' {
  if (enabled !== true) return 'never';
  if (policy === 'allow') return 'run';
  if (policy !== 'confirm') return 'never';
  return alwaysAllowed === true ? 'run' : 'ask';
}

/** Which calls of a tool a person must approve: none, some, all. Some are those for which its own code says so. */
export type CallPolicy = Pick<ToolSpec, 'policy' | 'needsApproval'>;

/** The stricter of two policies: allow, then confirm for some, for all, then deny, and an unknown one is the strictest. */
export function stricterPolicy(one: CallPolicy, other: CallPolicy): CallPolicy {
  const [a = 0, b = 0] = [one, other].map(({ policy }) => POLICIES.indexOf(policy));
  const policy = a === -1 || b === -1 ? 'deny' : (POLICIES[Math.max(a, b)] ?? 'deny');
  const isForSome = [one, other].every((each) => each.policy === 'allow' || each.needsApproval === true);
  return policy === 'confirm' && isForSome ? { policy, needsApproval: true } : { policy };
}

/** A tool as it was, with everything that has become stricter since. What has become laxer does not count. */
export function heldTo(was: ToolSpec, now: ToolSpec): ToolSpec {
  const { needsApproval: _, ...rest } = was;
  return {
    ...rest,
    ...stricterPolicy(was, now),
    enabled: was.enabled && now.enabled,
    alwaysAllowed:
      [was, now].some(({ alwaysAllowed }) => alwaysAllowed) &&
      [was, now].every(({ policy, alwaysAllowed }) => policy === 'allow' || alwaysAllowed),
  };
}
