import type { Issue } from '../../../../json/errors.ts';
import type { JsonObject } from '../../../../json/json.ts';
import { issueText, placeOf } from '../../../frames/event-issues.ts';
import { type FormDraft, draftOf, readDraft, readObject } from './form-draft.ts';
import type { FormField } from './form-fields.ts';

/** What a form asks for. */
export interface FormKind {
  /** Null: nothing is known, so it is written as JSON. */
  readonly fields: readonly FormField[] | null;
  readonly issues: (value: JsonObject) => readonly Issue[];
}

/** A form as it stands: filled in field by field, or written as JSON. */
export interface FormState {
  readonly draft: FormDraft;
  /** What is written as JSON; null while the fields are shown. */
  readonly json: string | null;
  /** The JSON says something else than the draft does. */
  readonly edited: boolean;
}

/** What a form comes to. */
export interface FormReading {
  /** Null: it is no JSON object. */
  readonly value: JsonObject | null;
  /** What is wrong with a field, by its name. */
  readonly byField: ReadonlyMap<string, string>;
  /** What is wrong with the whole, or with members that have no field. */
  readonly general: readonly string[];
}

/** A form at its beginning, empty or with the members of an object. */
export function beginForm({ fields }: FormKind, value?: JsonObject): FormState {
  const json = fields === null ? written(value ?? {}) : null;
  return { draft: draftOf(fields ?? [], value), json, edited: false };
}

/** The same written as JSON. */
export function showAsJson({ fields }: FormKind, state: FormState): FormState {
  return { ...state, json: written(readDraft(fields ?? [], state.draft).value), edited: false };
}

/** The same as fields; as it is where it cannot be: nothing is known, or what is written is no JSON object. */
export function showAsFields({ fields }: FormKind, state: FormState): FormState {
  if (fields === null || state.json === null) return state;
  if (!state.edited) return { ...state, json: null };
  const value = readObject(state.json);
  return value === null ? state : { draft: draftOf(fields, value), json: null, edited: false };
}

/** What the form comes to, and what is wrong with it. It may be sent when nothing is. */
export function readForm({ fields, issues }: FormKind, state: FormState): FormReading {
  if (state.json !== null) {
    const value = readObject(state.json);
    const general = value === null ? ['This is no JSON object.'] : issues(value).map(issueText);
    return { value, byField: new Map(), general };
  }
  const { value, unread } = readDraft(fields ?? [], state.draft);
  const names = new Set(fields?.map(({ name }) => name));
  const byField = new Map(unread);
  const general: string[] = [];
  for (const issue of issues(value)) {
    const [name = '', ...below] = placeOf(issue.path);
    if (!names.has(name)) general.push(issueText(issue));
    else if (!byField.has(name))
      byField.set(name, [...(below.length === 0 ? [] : [`${below.join('.')}:`]), issue.message].join(' '));
  }
  return { value, byField, general };
}

/** True when nothing is wrong. */
export function isRight({ value, byField, general }: FormReading): boolean {
  return value !== null && byField.size === 0 && general.length === 0;
}

function written(value: JsonObject): string {
  return JSON.stringify(value, null, Object.keys(value).length === 0 ? 0 : 2);
}
