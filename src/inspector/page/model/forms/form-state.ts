import type { Issue } from '../../../../json/errors.ts';
import { inexactness } from '../../../../json/depth.ts';
import { type JsonObject, type Json, isJsonObject, parsedText } from '../../../../json/json.ts';
import { issueText, pointerSteps } from '../../../frames/event-issues.ts';
import { UNSEEN } from '../../../../output/console/escaped.ts';
import type { SchemaField, Control } from './schema-fields.ts';

/** What a form asks for. */
export interface FormKind {
  /** Null: nothing is known, so it is written as JSON. */
  readonly fields: readonly SchemaField[] | null;
  readonly issues: (value: JsonObject) => readonly Issue[];
}

/** The state of a form: filled in field by field, or written as JSON. */
export interface FormState {
  readonly draft: FormDraft;
  /** What is written as JSON; null while the fields are shown. */
  readonly json: string | null;
  /** The JSON says something else than the draft does. */
  readonly edited: boolean;
}

/** What a form comes to. */
export interface FormReading {
  /** Null: it is not a JSON object. */
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

/** The same as fields; as it is where it cannot be: nothing is known, or what is written is not a JSON object. */
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
    const general =
      value === null ? [inexactness(state.json) ?? 'This is not a JSON object.'] : issues(value).map(issueText);
    return { value, byField: new Map(), general };
  }
  const { value, unread } = readDraft(fields ?? [], state.draft);
  const names = new Set(fields?.map(({ name }) => name));
  const byField = new Map(unread);
  const general: string[] = [];
  for (const issue of issues(value)) {
    const [name = '', ...below] = pointerSteps(issue.path);
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

/** A value as JSON, in which what would not be seen is written as an escape. */
function written(value: Json): string {
  return JSON.stringify(value, null, isFlat(value) ? 0 : 2).replaceAll(UNSEEN, (unseen) =>
    unseen.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** What stands in one control. The text of a choice is its key; null: nothing stands there. */
interface Entry {
  readonly control: Control;
  readonly text: string | null;
}

/** What a form has been filled in with so far: no more and no less than was typed, right or wrong. */
export interface FormDraft {
  readonly entries: ReadonlyMap<string, Entry>;
  /** Members that the form has no field for. */
  readonly rest: JsonObject;
}

/** The initial form: with the initial values of its fields, or with the members of an object. */
export function draftOf(fields: readonly SchemaField[], value?: JsonObject): FormDraft {
  const names = new Set(fields.map(({ name }) => name));
  return {
    entries: new Map(
      fields.map((field) => [field.name, entryOf(field, value === undefined ? field.initial : own(value, field.name))]),
    ),
    rest: Object.fromEntries(Object.entries(value ?? {}).filter(([name]) => !names.has(name))),
  };
}

/** The draft with another text in a field. */
export function retyped(draft: FormDraft, field: SchemaField, text: string): FormDraft {
  const control = draft.entries.get(field.name)?.control ?? field.control;
  return { ...draft, entries: new Map(draft.entries).set(field.name, { control, text: text === '' ? null : text }) };
}

/** Reads a draft, and says why a field cannot be read, by its name: its text stands in the value. Nothing else is checked. */
export function readDraft(fields: readonly SchemaField[], { entries, rest }: FormDraft) {
  const unread = new Map<string, string>();
  const members = fields.flatMap((field): readonly (readonly [string, Json])[] => {
    const { control, text } = entries.get(field.name) ?? { control: field.control, text: null };
    if (text === null) return emptyMember(field);
    const value = readText(field, control, text);
    const inexact = control === 'json' || control === 'number' ? inexactness(text) : undefined;
    if (value !== undefined && inexact === undefined) return [[field.name, value]];
    unread.set(field.name, inexact ?? `this is not ${control === 'json' ? 'JSON' : `a ${control}`}`);
    return [[field.name, text]];
  });
  return { value: { ...Object.fromEntries(members), ...rest }, unread };
}

/** A value that the field's own control cannot show is shown as JSON, so that nothing is lost. */
function entryOf({ control, choices, empty }: SchemaField, value: Json | undefined): Entry {
  if (value === undefined || (value === null && empty === 'null' && control !== 'choice'))
    return { control, text: null };
  const asJson: Entry = { control: 'json', text: written(value) };
  switch (control) {
    case 'choice': {
      const key = JSON.stringify(value);
      return choices.some((choice) => choice.key === key) ? { control, text: key } : asJson;
    }
    case 'number':
      return typeof value === 'number' ? { control, text: String(value) } : asJson;
    case 'check':
      return typeof value === 'boolean' ? { control, text: String(value) } : asJson;
    case 'date':
      return typeof value === 'string' && isDay(value) ? { control, text: value } : asJson;
    case 'text':
    case 'long':
      // A joiner is part of some scripts; a field would change a carriage return and hide the others.
      if (typeof value !== 'string' || value.replaceAll('\u200c', '').search(UNSEEN) >= 0) return asJson;
      return { control: value.length > MOST_IN_A_LINE || value.includes('\n') ? 'long' : control, text: value };
    case 'json':
      return asJson;
  }
}

const MOST_IN_A_LINE = 64;

function isFlat(value: Json): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0;
}

function emptyMember({ name, empty }: SchemaField): readonly (readonly [string, Json])[] {
  switch (empty) {
    case 'null':
      return [[name, null]];
    case 'text':
      return [[name, '']];
    case 'needed':
    case 'left-out':
      return [];
  }
}

/** Undefined for what cannot be read. */
function readText({ choices }: SchemaField, control: Control, text: string): Json | undefined {
  switch (control) {
    case 'text':
    case 'long':
      return text;
    case 'date':
      return isDay(text) ? text : undefined;
    case 'number': {
      const number = text.trim() === '' ? Number.NaN : Number(text);
      return Number.isFinite(number) ? number : undefined;
    }
    case 'check':
      return text === 'true';
    case 'choice':
      return choices.find(({ key }) => key === text)?.value;
    case 'json':
      return parsedText(text);
  }
}

/** Whether a text is a day that there is, which a field for dates can show. */
function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.startsWith(text) === true;
}

function own(value: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Reads a JSON object; null for any other text, or one whose numbers it would change. Nothing at all is an empty one. */
function readObject(text: string): JsonObject | null {
  const value = text.trim() === '' ? {} : parsedText(text);
  return isJsonObject(value) && inexactness(text) === undefined ? value : null;
}
