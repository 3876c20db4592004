import type { SomeRun } from '../../agent/run/run.ts';
import { transitions } from '../../journal/replay/replay.ts';
import type { RunReason, RunStatus } from '../../machines/contract/run-result.ts';
import { described, optionsOf, wrongOption } from '../../json/known-options.ts';
import {
  type Evidence,
  type RecordingSource,
  type Subject,
  evidenceOf,
  isRun,
  type Judgement,
  endingLines,
  pathLine,
  type CallMade,
  shortened,
} from './evidence.ts';
import { type ExpectedTransitions, judgeTransitions, judgeVisited } from './judge-path.ts';
import { firstDifference } from '../../journal/replay/divergence.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';

/** A judgement at once, or after the run that it is about. */
export type Pending = Judgement | Promise<Judgement>;

/** Judges that the states were visited, in this order. */
export function checkVisited(subject: Subject, states: readonly (string | readonly string[])[]): Pending {
  return judged(subject, (evidence) => judgeVisited(evidence, states.flat()));
}

/** More about an expected call. */
export interface CallOptions {
  /** How often; without it, once or more. */
  readonly times?: number | undefined;
  /** What the tool must have given: members of its data, or of the whole tool result. */
  readonly result?: unknown;
}

const checkCallOptions = optionsOf<CallOptions>('An expected call', 'docs/testing.md', { times: true, result: true });

/** Judges that a tool ran, with these arguments, this often. */
export function checkCalledTool(subject: Subject, tool: string, args?: unknown, options: CallOptions = {}): Pending {
  checkCallOptions(options);
  if (args !== undefined && args !== null && !isJsonObject(args))
    throw wrongOption(`The arguments of an expected call must be an object, and are ${described(args)}.`);
  if (options.times !== undefined && !(Number.isInteger(options.times) && options.times >= 0))
    throw wrongOption(`An expected call: option 'times' must be a whole number from 0 on, and is ${options.times}.`);
  return judged(subject, (evidence) => judgeCalledTool(evidence, { ...options, tool, args }));
}

/** Judges how the run ended. */
export function checkEnding(subject: Subject, how: RunReason | RunStatus, text?: string | RegExp): Pending {
  if (!(text === undefined || typeof text === 'string' || text instanceof RegExp || asymmetric(text) !== null))
    throw wrongOption(`The text of an expected ending must be a text or a pattern, and is ${described(text)}.`);
  return judged(subject, (evidence) => judgeEnding(evidence, how, text));
}

/** Judges the answer of a run whose answer has a schema. */
export function checkFinalOutput(subject: Subject, expected?: unknown): Pending {
  return judged(subject, (evidence) => judgeOutput(evidence, expected));
}

/** Judges the way that the run took. */
export function checkTransitions(subject: Subject, expected: ExpectedTransitions | SomeRun | RecordingSource): Pending {
  if (isRun(expected)) return afterBoth(subject, expected);
  const items: readonly unknown[] | null =
    typeof expected === 'string' ? [] : Array.isArray(expected) ? expected : null;
  if (items?.every((item) => typeof item === 'string' || isJsonObject(item)) !== true)
    throw wrongOption('Expected transitions must be a list of them, a Run or a recording. A RunResult has none.');
  const wanted = isRecording(expected) ? transitions(expected) : expected;
  return judged(subject, (evidence) => judgeTransitions(evidence, wanted));
}

async function afterBoth(subject: Subject, other: SomeRun): Promise<Judgement> {
  await other;
  return judgeTransitions(await evidenceOf(subject), other.transitions());
}

function isRecording(expected: ExpectedTransitions | RecordingSource): expected is RecordingSource {
  const [first] = expected;
  return (
    typeof expected === 'string' ||
    (typeof first === 'string' ? first.startsWith('{') : first !== undefined && 't' in first)
  );
}

function judged(subject: Subject, judge: (evidence: Evidence) => Judgement): Pending {
  const evidence = evidenceOf(subject);
  return evidence instanceof Promise ? evidence.then(judge) : judge(evidence);
}

const KNOWN: { readonly [how in RunReason | RunStatus]: true } = {
  answer: true,
  'max-steps': true,
  loop: true,
  'plan-limit': true,
  'llm-error': true,
  'tool-error': true,
  thrown: true,
  cancelled: true,
  timeout: true,
  budget: true,
  refused: true,
  'content-filter': true,
  length: true,
  'output-invalid': true,
  released: true,
  parked: true,
  answered: true,
  stopped: true,
  failed: true,
  waiting: true,
};

/** Did the run end so? Throws a `TypeError` for a text that is neither a reason nor a status, so that a typo never passes. */
function judgeEnding(evidence: Evidence, how: RunReason | RunStatus, text: string | RegExp | undefined): Judgement {
  if (!Object.hasOwn(KNOWN, how))
    throw wrongOption(
      `'${how}' is neither a reason nor a status of a run. They are: ${Object.keys(KNOWN).join(', ')}.`,
    );
  const { reason, status, result } = evidence.ending;
  const pass =
    (reason === how || status === how) &&
    (text === undefined || (typeof text === 'string' ? result.includes(text) : holdsAll(text, result)));
  const wanted = text === undefined ? how : `${how}, saying ${typeof text === 'string' ? JSON.stringify(text) : text}`;
  return {
    pass,
    message: () =>
      [
        `expected ${evidence.subject} ${pass ? 'not ' : ''}to end with ${wanted}, but it`,
        ...endingLines(evidence),
        pathLine(evidence),
      ].join('\n'),
  };
}

/** Did the run give an answer that has a schema, holding at least this? */
function judgeOutput(evidence: Evidence, expected: unknown): Judgement {
  const { output } = evidence.ending;
  const pass = output !== null && (expected === undefined || holdsAll(expected, output));
  const wanted = expected === undefined ? 'an output' : `the output ${shown(expected)}`;
  const has = output === null ? 'it has none' : `it is ${shortened(shown(output))}`;
  return {
    pass,
    message: () =>
      [
        `expected ${evidence.subject} ${pass ? 'not ' : ''}to have ${wanted}, and ${has}`,
        ...endingLines(evidence),
      ].join('\n'),
  };
}

/** Which calls of a tool are meant; `args`: members that the arguments must have, others may stand beside them. */
interface ExpectedCall extends CallOptions {
  readonly tool: string;
  readonly args: unknown;
}

/** Did such a call run? Calls that were denied, or whose arguments were not valid, did not. */
function judgeCalledTool(evidence: Evidence, { tool, args, result, times }: ExpectedCall): Judgement {
  if (result !== undefined && evidence.transitions === null)
    throw wrongOption('A RunResult has no results of tools. Pass the Run or its recording.');
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

function hasGiven(gave: CallMade['gave'], wanted: unknown): boolean {
  return gave !== null && (holdsAll(wanted, gave) || (isJsonObject(gave) && holdsAll(wanted, gave.data)));
}

/** Where the arguments of the only call of that tool differ: the usual case, and the usual question. */
function nearest(calls: readonly CallMade[], tool: string, args: unknown): readonly string[] {
  const [call, ...others] = calls.filter((one) => one.tool === tool);
  if (call === undefined || others.length > 0 || args === undefined) return [];
  const expected = toJson(args);
  if (!expected.ok || holdsAll(args, call.args)) return [];
  return [`  first difference: ${firstDifference(expected.value, pickedLike(expected.value, call.args))}`];
}

/** The actual arguments without the members that were not asked for. */
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
  if (expected instanceof RegExp) return typeof actual === 'string' && actual.search(expected) !== -1;
  if (Array.isArray(expected)) {
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((item: unknown, index) => holdsAll(item, actual[index]))
    );
  }
  if (isJsonObject(expected)) {
    if (typeof expected.toJSON === 'function') return holdsAll(toJson(expected), { ok: true, value: actual });
    // What a Map, a promise and their like hold is in no member, so that anything would do.
    const kind = Object.prototype.toString.call(expected).slice(8, -1);
    if (kind !== 'Object')
      throw wrongOption(`A value of the kind ${kind} is expected, which is no JSON. Give what it holds.`);
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
