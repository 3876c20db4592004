import type { RunReason, RunStatus } from '../../machines/contract/run-result.ts';
import type { Evidence } from './evidence.ts';
import { type Verdict, endingLines, pathLine } from './verdict.ts';

/** How a run should have ended: its reason or status, and what its text should hold or match. */
export interface ExpectedEnding {
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
export function judgeEnding(evidence: Evidence, { how, text }: ExpectedEnding): Verdict {
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
