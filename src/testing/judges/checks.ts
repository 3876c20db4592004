import type { Run } from '../../agent/run/run.ts';
import { transitions } from '../../journal/replay/replay.ts';
import type { RunReason, RunStatus } from '../../machines/contract/run-result.ts';
import { optionsOf } from '../../json/known-options.ts';
import {
  type Evidence,
  type RecordingSource,
  type Subject,
  evidenceOf,
  isRun,
  type Judgement,
  endingLines,
  pathLine,
} from './evidence.ts';
import { judgeCalledTool } from './judge-called-tool.ts';
import { type ExpectedTransitions, judgeTransitions, judgeVisited } from './judge-path.ts';

/** A judgement at once, or after the run that it is about. */
export type Pending = Judgement | Promise<Judgement>;

/** Judges that the states were visited, in this order. */
export function checkVisited(subject: Subject, states: readonly (string | readonly string[])[]): Pending {
  return judged(subject, (evidence) => judgeVisited(evidence, states.flat()));
}

/** More about an expected call. */
export interface CallOptions {
  /** How often; without it, once or more. */
  readonly times?: number;
  /** What the tool must have given: members of its data, or of the whole tool result. */
  readonly result?: unknown;
}

const checkCallOptions = optionsOf<CallOptions>('An expected call', 'docs/testing.md', { times: true, result: true });

/** Judges that a tool ran, with these arguments, this often. */
export function checkCalledTool(subject: Subject, tool: string, args?: unknown, options: CallOptions = {}): Pending {
  checkCallOptions(options);
  const expected = { ...options, tool, ...(args === undefined ? {} : { args }) };
  return judged(subject, (evidence) => judgeCalledTool(evidence, expected));
}

/** Judges how the run ended. */
export function checkEnding(subject: Subject, how: RunReason | RunStatus, text?: string | RegExp): Pending {
  return judged(subject, (evidence) => judgeEnding(evidence, text === undefined ? { how } : { how, text }));
}

/** Judges the way that the run took. */
export function checkTransitions(subject: Subject, expected: ExpectedTransitions | Run | RecordingSource): Pending {
  if (isRun(expected)) return afterBoth(subject, expected);
  const moves = isRecording(expected) ? transitions(expected) : expected;
  return judged(subject, (evidence) => judgeTransitions(evidence, moves));
}

async function afterBoth(subject: Subject, other: Run): Promise<Judgement> {
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

/** How a run should have ended: its reason or status, and what its text should hold or match. */
interface ExpectedEnding {
  readonly how: RunReason | RunStatus;
  readonly text?: string | RegExp;
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
  released: true,
  answered: true,
  stopped: true,
  failed: true,
  waiting: true,
};

/** Did the run end so? Throws a `TypeError` for a word that is neither a reason nor a status: a typo never passes. */
function judgeEnding(evidence: Evidence, { how, text }: ExpectedEnding): Judgement {
  if (!Object.hasOwn(KNOWN, how))
    throw new TypeError(
      `'${how}' is neither a reason nor a status of a run. They are: ${Object.keys(KNOWN).join(', ')}.`,
    );
  const { reason, status, result } = evidence.ending;
  const pass = (reason === how || status === how) && (text === undefined || says(result, text));
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

function says(result: string, text: string | RegExp): boolean {
  return typeof text === 'string' ? result.includes(text) : result.search(text) !== -1;
}
