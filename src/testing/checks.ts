import type { Run } from '../agent/run/run.ts';
import { transitions } from '../journal/replay/replay.ts';
import type { RunReason, RunStatus } from '../machines/contract/run-result.ts';
import { optionsOf } from '../json/known-options.ts';
import { type Evidence, type RecordingSource, type Subject, evidenceOf, isRun } from './judges/evidence.ts';
import { judgeCalledTool } from './judges/judge-called-tool.ts';
import { judgeEnding } from './judges/judge-ending.ts';
import { type ExpectedTransitions, judgeTransitions } from './judges/judge-transitions.ts';
import { judgeVisited } from './judges/judge-visited.ts';
import type { Verdict } from './judges/verdict.ts';

/** A verdict at once, or after the run that it is about. */
export type Pending = Verdict | Promise<Verdict>;

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

async function afterBoth(subject: Subject, other: Run): Promise<Verdict> {
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

function judged(subject: Subject, judge: (evidence: Evidence) => Verdict): Pending {
  const evidence = evidenceOf(subject);
  return evidence instanceof Promise ? evidence.then(judge) : judge(evidence);
}
