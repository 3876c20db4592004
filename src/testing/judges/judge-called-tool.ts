import { firstDifference } from '../../journal/replay/divergence.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';
import type { CallMade } from './calls-in-messages.ts';
import type { Evidence } from './evidence.ts';
import { type Verdict, endingLines, shortened } from './verdict.ts';

/** Which calls of a tool are meant. */
export interface ExpectedCall {
  readonly tool: string;
  /** Members that the arguments must have; others may stand beside them. */
  readonly args?: unknown;
  /** What the tool must have given: members of its data, or of the whole tool result. */
  readonly result?: unknown;
  /** How many such calls; without it, one or more. */
  readonly times?: number;
}

/** Did such a call run? Calls that were denied, or whose arguments were not valid, did not. */
export function judgeCalledTool(evidence: Evidence, { tool, args, result, times }: ExpectedCall): Verdict {
  if (result !== undefined && evidence.moves === null)
    throw new TypeError('A result does not keep what the tools gave. Give the Run or its recording.');
  const found = evidence.calls.filter(
    (call) =>
      call.tool === tool && holdsAll(args ?? {}, call.args) && (result === undefined || hasGiven(call.gave, result)),
  );
  const pass = times === undefined ? found.length > 0 : found.length === times;
  const given = result === undefined ? '' : ` and got ${shown(result)}`;
  const wanted = `${tool}${args === undefined ? '' : ` with ${shown(args)}`}${given}`;
  const count = times === undefined ? '' : ` ${counted(times)}`;
  return {
    pass,
    message: () => {
      const head = pass
        ? `expected ${evidence.subject} not to have called ${wanted}${count}, but it did:`
        : `expected ${evidence.subject} to have called ${wanted}${count}, but it ${instead(evidence.calls, times, found.length)}`;
      return [
        head,
        ...listed(evidence.calls, result !== undefined),
        ...nearest(evidence.calls, tool, args),
        ...endingLines(evidence),
      ].join('\n');
    },
  };
}

function instead(calls: readonly CallMade[], times: number | undefined, found: number): string {
  if (calls.length === 0) return 'ran no tool at all:';
  return times === undefined ? 'called:' : `did so ${counted(found)}:`;
}

function counted(times: number): string {
  return times === 1 ? 'once' : `${times} times`;
}

const LISTED = 20;

function listed(calls: readonly CallMade[], withResults: boolean): readonly string[] {
  const lines = calls.slice(0, LISTED).map(({ tool, args, gave }) => {
    const got = withResults ? ` gave ${gave === null ? 'nothing yet' : shortened(JSON.stringify(gave))}` : '';
    return `  ${tool}(${shortened(JSON.stringify(args))})${got}`;
  });
  return calls.length > LISTED ? [...lines, `  … and ${calls.length - LISTED} more`] : lines;
}

function hasGiven(gave: Json, wanted: unknown): boolean {
  return holdsAll(wanted, gave) || (isJsonObject(gave) && holdsAll(wanted, gave.data));
}

/** Where the arguments of the only call of that tool differ: the usual case, and the usual question. */
function nearest(calls: readonly CallMade[], tool: string, args: unknown): readonly string[] {
  const [call, ...others] = calls.filter((one) => one.tool === tool);
  if (call === undefined || others.length > 0 || args === undefined) return [];
  const expected = toJson(args);
  if (!expected.ok || holdsAll(args, call.args)) return [];
  return [`  first difference: ${firstDifference(expected.value, pickedLike(expected.value, call.args))}`];
}

/** The actual arguments without the members that nobody asked about. */
function pickedLike(expected: Json, actual: Json): Json {
  if (typeof expected !== 'object' || expected === null || typeof actual !== 'object' || actual === null) return actual;
  if (Array.isArray(expected) || Array.isArray(actual)) return actual;
  const keys = new Set(Object.keys(expected));
  return Object.fromEntries(Object.entries(actual).filter(([key]) => keys.has(key)));
}

function shown(value: unknown): string {
  const json = toJson(value);
  return json.ok ? JSON.stringify(json.value) : String(value);
}

/**
 * True when `actual` holds all that `expected` says: members of objects may stand beside those asked for, lists are
 * compared whole. `expect.any(String)` and its like may stand anywhere in `expected`.
 */
function holdsAll(expected: unknown, actual: unknown): boolean {
  const asked = asymmetric(expected);
  if (asked !== null) return asked(actual);
  if (expected instanceof RegExp) return typeof actual === 'string' && expected.test(actual);
  if (Array.isArray(expected)) {
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((item: unknown, index) => holdsAll(item, actual[index]))
    );
  }
  if (isJsonObject(expected)) {
    return isJsonObject(actual) && Object.entries(expected).every(([key, value]) => holdsAll(value, actual[key]));
  }
  return Object.is(expected, actual);
}

/** vitest, jest and chai know such matchers by this method. */
function asymmetric(expected: unknown): ((actual: unknown) => boolean) | null {
  if (typeof expected !== 'object' || expected === null) return null;
  const match: unknown = Reflect.get(expected, 'asymmetricMatch');
  return typeof match === 'function' ? (actual) => Reflect.apply(match, expected, [actual]) === true : null;
}
