import { type Json, type JsonObject, isJsonObject } from '../../../../json/json.ts';
import type { Control } from './form-control.ts';
import type { FormField } from './form-fields.ts';

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

/** What a draft comes to. */
export interface DraftReading {
  /** What cannot be read stands in it as the text that was typed. */
  readonly value: JsonObject;
  /** Why a field cannot be read, by its name. */
  readonly unread: ReadonlyMap<string, string>;
}

/** A form before anybody typed: with what its fields stand at first, or with the members of an object. */
export function draftOf(fields: readonly FormField[], value?: JsonObject): FormDraft {
  const names = new Set(fields.map(({ name }) => name));
  return {
    entries: new Map(
      fields.map((field) => [field.name, entryOf(field, value === undefined ? field.initial : own(value, field.name))]),
    ),
    rest: Object.fromEntries(Object.entries(value ?? {}).filter(([name]) => !names.has(name))),
  };
}

/** The draft with another text in a field. */
export function retyped(draft: FormDraft, field: FormField, text: string): FormDraft {
  const control = draft.entries.get(field.name)?.control ?? field.control;
  return { ...draft, entries: new Map(draft.entries).set(field.name, { control, text: text === '' ? null : text }) };
}

/** Reads a draft. Nothing is checked but whether it can be read. */
export function readDraft(fields: readonly FormField[], { entries, rest }: FormDraft): DraftReading {
  const unread = new Map<string, string>();
  const members = fields.flatMap((field): readonly (readonly [string, Json])[] => {
    const { control, text } = entries.get(field.name) ?? { control: field.control, text: null };
    if (text === null) return emptyMember(field);
    const value = readText(field, control, text);
    if (value !== undefined) return [[field.name, value]];
    unread.set(field.name, control === 'json' ? 'this is no JSON' : 'this is no number');
    return [[field.name, text]];
  });
  return { value: { ...Object.fromEntries(members), ...rest }, unread };
}

/** A value that the field's own control cannot show is shown as JSON, so that nothing is lost. */
function entryOf({ control, choices, empty }: FormField, value: Json | undefined): Entry {
  if (value === undefined || (value === null && empty === 'null' && control !== 'choice'))
    return { control, text: null };
  const asJson: Entry = { control: 'json', text: JSON.stringify(value, null, isFlat(value) ? 0 : 2) };
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
      return typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? { control, text: value } : asJson;
    case 'text':
    case 'long':
      if (typeof value !== 'string') return asJson;
      return { control: value.length > MOST_IN_A_LINE || value.includes('\n') ? 'long' : control, text: value };
    case 'json':
      return asJson;
  }
}

const MOST_IN_A_LINE = 64;

function isFlat(value: Json): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0;
}

function emptyMember({ name, empty }: FormField): readonly (readonly [string, Json])[] {
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
function readText({ choices }: FormField, control: Control, text: string): Json | undefined {
  switch (control) {
    case 'text':
    case 'long':
    case 'date':
      return text;
    case 'number': {
      const number = text.trim() === '' ? Number.NaN : Number(text);
      return Number.isFinite(number) ? number : undefined;
    }
    case 'check':
      return text === 'true';
    case 'choice':
      return choices.find(({ key }) => key === text)?.value;
    case 'json':
      return parsed(text);
  }
}

function parsed(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

function own(value: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Reads a JSON object; null for any other text. Nothing at all is an empty one. */
export function readObject(text: string): JsonObject | null {
  const value = text.trim() === '' ? {} : parsed(text);
  return isJsonObject(value) ? value : null;
}
