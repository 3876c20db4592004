import type { CheckedArguments } from '../recover/check-arguments.ts';
import { isList } from '../../json/depth.ts';
import type { Issue } from '../../json/errors.ts';
import type { Json, JsonSchema } from '../../json/json.ts';
import type { Repair } from '../reply.ts';
import { pointer } from './fit-context.ts';

type Fitting = Extract<CheckedArguments, { readonly ok: true }>;

/** Runs a schema's own check on arguments that already fit its JSON Schema. */
export function applyValidator(
  checked: Fitting,
  schema: JsonSchema,
  validate: ((value: unknown) => unknown) | undefined,
): CheckedArguments {
  const { issues, repairs } = validationIssues(validate, checked.value);
  if (issues.length > 0) {
    return { ok: false, error: { kind: 'deserialization', rawValue: checked.value, issues, expectedSchema: schema } };
  }
  return repairs.length === 0 ? checked : { ...checked, repairs: [...checked.repairs, ...repairs] };
}

/** What a schema's own check says of a value; a repair `unchecked` when the check is asynchronous. */
export function validationIssues(
  validate: ((value: unknown) => unknown) | undefined,
  value: Json,
): { readonly issues: readonly Issue[]; readonly repairs: readonly Repair[] } {
  const verdict = validate === undefined ? { issues: [] } : run(validate, value);
  return verdict === 'later' ? { issues: [], repairs: [UNCHECKED] } : { issues: verdict.issues, repairs: [] };
}

const UNCHECKED: Repair = {
  kind: 'unchecked',
  message: 'the check of the schema is asynchronous and did not run',
  path: '',
  cost: 0,
};

type Verdict = { readonly issues: readonly Issue[] } | 'later';

function run(validate: (value: unknown) => unknown, value: Json): Verdict {
  let result: unknown;
  try {
    result = validate(value);
  } catch (error) {
    return {
      issues: [{ path: '', message: error instanceof Error ? error.message : 'the check of the schema failed' }],
    };
  }
  if (typeof result !== 'object' || result === null) return { issues: [] };
  if ('then' in result) {
    if (result instanceof Promise) result.catch(() => undefined);
    return 'later';
  }
  if ('issues' in result && Array.isArray(result.issues)) return { issues: result.issues.map(toIssue) };
  return { issues: [] };
}

function toIssue(issue: unknown): Issue {
  if (typeof issue !== 'object' || issue === null) return { path: '', message: String(issue) };
  const message = 'message' in issue && typeof issue.message === 'string' ? issue.message : 'does not fit';
  const path = 'path' in issue && isList(issue.path) ? issue.path : [];
  return { path: pointer(path.map(segment)), message };
}

function segment(part: unknown): string | number {
  const key: unknown = typeof part === 'object' && part !== null && 'key' in part ? part.key : part;
  return typeof key === 'number' ? key : String(key);
}
