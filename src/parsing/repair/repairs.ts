import { optionsOf } from '../../json/known-options.ts';

/** One change that the parser made to what the model wrote. `cost` ranks readings: 0 loses nothing, higher is bolder. */
export interface Repair {
  readonly kind: string;
  readonly message: string;
  readonly at?: number;
  readonly path?: string;
  readonly cost: number;
}

/** How much the parser is willing to look at. What is larger is not read at all, or is read up to the limit and marked incomplete. */
export interface Limits {
  /** Longest text in UTF-16 units; the default is 1,048,576 (1 MB of plain text). */
  readonly maxChars: number;
  /** Deepest nesting of lists and objects; the default is 256, the most 1,000. */
  readonly maxDepth: number;
}

/** Refuses limits that are not known. */
export const checkLimits = optionsOf<Limits>('limits', 'docs/models.md', { maxChars: true, maxDepth: true });

/** The limits that hold where the caller names none. */
export const DEFAULT_LIMITS: Limits = { maxChars: 1_048_576, maxDepth: 256 };

/** The caller's limits, with defaults for what is missing or makes no sense. */
export function resolveLimits(limits: Partial<Limits> | undefined): Limits {
  if (limits === undefined || limits === null) return DEFAULT_LIMITS;
  return {
    maxChars: atLeastOne(limits.maxChars) ?? DEFAULT_LIMITS.maxChars,
    maxDepth: Math.min(atLeastOne(limits.maxDepth) ?? DEFAULT_LIMITS.maxDepth, 1_000),
  };
}

function atLeastOne(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 1 ? Math.floor(value) : undefined;
}
