import type { Shape, ShapeIssue } from '../../json/shape.ts';
import { namesAt } from '../../json/shapes.ts';
import {
  type AllGiven,
  OptionError,
  described,
  givenIn,
  unknownOptions,
  wrongOption,
} from '../../json/known-options.ts';
import { didYouMean } from '../../json/nearest-name.ts';

const DOCS = 'docs/agents.md';

/** What other libraries call an option, in lower case. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  agents: 'children',
  subagents: 'children',
  handoffs: 'children',
  maxturns: 'maxSteps',
  maxiterations: 'maxSteps',
  recursionlimit: 'maxSteps',
  outputtype: 'outputSchema',
  responseformat: 'outputSchema',
  checkpointer: 'journal',
};

/** Options without those that are undefined, which count as not given. A value that is not an object is returned unchanged. */
export function withoutUndefined<T>(options: T): Partial<AllGiven<T>>;
export function withoutUndefined(options: unknown): unknown {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return options;
  return Object.fromEntries(givenIn(options));
}

/** Checks given options against a strict schema: the error names each wrong option. */
export function optionError(
  what: string,
  schema: Shape<unknown>,
  { issues }: { readonly issues: readonly ShapeIssue[] },
  given: unknown,
): OptionError {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return wrongOption(`${what}: the options must be an object, and are ${described(given)}.`);
  const problems = issues.map((issue) => {
    if (issue.kind !== 'unrecognized_keys') return `option '${issue.path.join('.')}': ${issue.message}.`;
    return unknownOptions(issue.keys, namesAt(schema, issue.path), { path: issue.path, meant });
  });
  const isUnknown = issues.some(({ kind }) => kind === 'unrecognized_keys');
  return new OptionError(
    isUnknown ? 'unknown-option' : 'wrong-option',
    `${what}: ${problems.join(' ')}${isUnknown ? ` See ${DOCS}.` : ''}`,
  );
}

function meant(key: string, known: readonly string[]): string {
  const name = Object.entries(ELSEWHERE).find(([other]) => other === key.toLowerCase())?.[1];
  return name === undefined || !known.includes(name) ? didYouMean(key, known) : ` Did you mean '${name}'?`;
}
