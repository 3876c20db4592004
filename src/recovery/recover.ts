import { defined, type Json, isJsonObject } from '../json/json.ts';
import { optionsOf, wrongOption } from '../json/known-options.ts';
import { parseStrict } from '../json/depth.ts';
import { z } from '../json/shapes.ts';
import { recoverJson } from '../parsing/recover/recover-json.ts';
import { DEFAULT_LIMITS } from '../parsing/repair/repairs.ts';
import { type Backoff, DEFAULT_BACKOFF } from './backoff.ts';
import type { FixFunction, RecoveryStep, Repairer, SanitizeFunction, SubstituteFunction } from './steps.ts';
import { checkSeverity } from './verdicts.ts';

/** How a repair agent is asked. */
interface FixOptions {
  readonly retries?: number | undefined;
}

/** How a call is repeated. */
interface RetryOptions {
  readonly maxAttempts?: number | undefined;
  readonly backoff?: Backoff | undefined;
  readonly whenUnknown?: boolean | undefined;
}

/** A backoff, as `exponential` and `constant` make it. */
export const backoffShape = z.union(
  [
    z.strictObject({
      kind: z.literal('exponential'),
      baseMs: z.number().min(0),
      factor: z.number().min(1),
      maxMs: z.number().positive(),
      jitter: z.number().min(0).max(1),
    }),
    z.strictObject({ kind: z.literal('constant'), ms: z.number().min(0) }),
  ],
  'must be made by recover.exponential() or recover.constant()',
);

type ExponentialOptions = Partial<Omit<Extract<Backoff, { kind: 'exponential' }>, 'kind'>>;

const DOCS = 'docs/recovery.md';
const checkFix = optionsOf<FixOptions>('recover.fix', DOCS, { retries: true });
const checkRetry = optionsOf<RetryOptions>('recover.retry', DOCS, {
  maxAttempts: true,
  backoff: true,
  whenUnknown: true,
});
const checkExponential = optionsOf<ExponentialOptions>('recover.exponential', DOCS, {
  baseMs: true,
  factor: true,
  maxMs: true,
  jitter: true,
});

/**
 * The steps of recovery, for `onError` of a tool or an agent. A slot takes one step, a list tried in order, or a function
 * of the error.
 *
 * @example
 * onError: {
 *   invalidArgs: [recover.fix(recover.json), recover.feedback()],
 *   executionError: [recover.retry({ maxAttempts: 3, backoff: recover.exponential() }), recover.escalate()],
 * }
 */
export const recover = {
  /** Repairs the argument text by a function or by a repair agent, which may try `retries` times in all (1). */
  fix: (by: FixFunction | Repairer, options: FixOptions = {}): RecoveryStep => {
    checkFix(options);
    const isAgent = typeof Reflect.get(Object(by), 'repair') === 'function';
    must('fix', 'the first argument must be a function or an agent', isAgent || typeof by === 'function');
    return typeof by === 'function'
      ? { kind: 'fix', fix: by }
      : { kind: 'fix-agent', agent: by, retries: whole('fix', 'retries', options.retries ?? 1) };
  },
  /** Cleans the decoded arguments. */
  sanitize: (sanitize: SanitizeFunction): RecoveryStep => {
    must('sanitize', 'the argument must be a function', typeof sanitize === 'function');
    return { kind: 'sanitize', sanitize };
  },
  /**
   * Calls the tool again with the same arguments: `maxAttempts` in all (3), the first included, after `backoff` (none). A
   * call whose outcome is unknown and that is not idempotent is repeated only with `whenUnknown`.
   */
  retry: (options: RetryOptions = {}): RecoveryStep => {
    checkRetry(options);
    const { maxAttempts = 3, backoff: wait = null, whenUnknown = false } = options;
    const checked = wait === null ? null : backoffShape.safeParse(wait);
    if (checked?.success === false)
      for (const { path, message } of checked.error.issues)
        must('retry', `${['backoff', ...path].join('.')}${path.length > 0 ? ':' : ''} ${message}`, false);
    must('retry', 'whenUnknown must be true or false', typeof whenUnknown === 'boolean');
    return { kind: 'retry', maxAttempts: whole('retry', 'maxAttempts', maxAttempts), backoff: wait, whenUnknown };
  },
  /** Returns a result in place of the call's own. */
  substitute: (by: SubstituteFunction): RecoveryStep => {
    must('substitute', 'the argument must be a function', typeof by === 'function');
    return { kind: 'substitute', substitute: by };
  },
  /** Hands the error to the model; the built-in end of every list. */
  feedback: (): RecoveryStep => ({ kind: 'feedback' }),
  /** Escalates: this cannot be repaired here. Severity ignores case; `high` unless given. */
  escalate: (reason?: string, severity: string = 'high'): RecoveryStep => ({
    kind: 'escalate',
    reason: reasonOf('escalate', reason),
    severity: checkSeverity('recover.escalate', severity),
  }),
  /** Ends the run as failed, at once. */
  throwException: (reason?: string): RecoveryStep => ({
    kind: 'throw',
    reason: reasonOf('throwException', reason),
  }),
  /** Stands in a list for the steps that would have been inherited. */
  inherit: (): RecoveryStep => ({ kind: 'inherit' }),

  /** Waits `baseMs` (250), then each time `factor` (2) times as long, up to `maxMs` (30 000); each less a random share of up to `jitter` (0.5). */
  exponential: (options: ExponentialOptions = {}): Backoff => {
    checkExponential(options);
    return { ...DEFAULT_BACKOFF, ...defined(options) };
  },
  /** The same wait each time, in milliseconds. */
  constant: (ms: number): Backoff => ({ kind: 'constant', ms }),

  trimFences,
  trailingCommas,
  json: repairJson,
  normalizePathSeparators,
};

function must(step: string, what: string, holds: boolean): void {
  if (!holds) throw wrongOption(`recover.${step}: ${what}.`);
}

function reasonOf(step: string, reason: unknown): string | null {
  must(step, 'the reason must be text', typeof (reason ?? '') === 'string');
  return typeof reason === 'string' ? reason : null;
}

function whole(step: string, option: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value;
  throw wrongOption(`recover.${step}: ${option} must be a whole number from 1 on, and is ${String(value)}.`);
}

/** Takes Markdown fences off argument text; null when there are none. */
function trimFences(text: string): string | null {
  return /^```(?:[^\n]*\n)?(.*)```$/s.exec(text.trim())?.[1]?.trim() ?? null;
}

/** Takes commas away that stand before a closing bracket, outside of strings; null when there are none. */
function trailingCommas(text: string): string | null {
  const result = text.replaceAll(/("(?:[^"\\]+|\\.)*"?)|,(?=\s*[}\]])/gs, '$1');
  return result === text ? null : result;
}

/** The parser's own repair of JSON; null when there is nothing to repair, no object, or only a part of one. */
function repairJson(text: string): { readonly [key: string]: Json } | null {
  if (parseStrict(text.trim(), DEFAULT_LIMITS.maxDepth) !== undefined) return null;
  const recovered = recoverJson(text);
  return recovered.ok && recovered.complete && isJsonObject(recovered.value) ? recovered.value : null;
}

const DRIVE_OR_PATH = /^(?:[A-Za-z]:)?[^\s:\\]*\\[^\s:]*$/;

/** Turns backslashes into slashes in every string that looks like a path; null when there is none. */
function normalizePathSeparators(value: Json): Json | null {
  const result = normalized(value);
  return JSON.stringify(result) === JSON.stringify(value) ? null : result;
}

function normalized(value: Json): Json {
  if (typeof value === 'string') return DRIVE_OR_PATH.test(value) ? value.replaceAll('\\', '/') : value;
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, normalized(member)]));
  return typeof value === 'object' && value !== null ? value.map((item) => normalized(item)) : value;
}
