/**
 * Owns: what is known of the shape of a machine's events. Does not own: checking them, and showing it.
 *
 * I1 What cannot be read is not known: no schema of the user's breaks the machine's drawing.
 */
import { isList } from '../../json/depth.ts';
import type { AnyStateMachine } from 'xstate';
import { z } from 'zod';
import { agentMachine } from '../../machines/agent/agent.ts';
import { loopDetectionMachine } from '../../machines/tool-call/loop-detection.ts';
import { OUTSIDE_EVENTS } from '../../machines/events/outside-events.ts';
import { toolCallMachine } from '../../machines/tool-call/tool-call.ts';
import { type Json, type JsonSchema, isJsonObject, type JsonObject } from '../../json/json.ts';
import {
  type StandardSchema,
  isStandard,
  schemaProblem,
  writtenAsJson,
  type StandardIssue,
} from '../../tools/schema.ts';
import { describeThrown } from '../../json/to-json.ts';
import { eventIssues, issueText } from './event-issues.ts';

/** What is known of one type of event. */
interface EventSchema {
  /** Null: it cannot be written as JSON Schema. */
  readonly json: JsonSchema | null;
  /** The schema's own check, which knows more than its JSON Schema; null: there is none. */
  readonly standard: StandardSchema['~standard'] | null;
}

/** What is known of a machine's events, by type. */
type EventSchemas = ReadonlyMap<string, EventSchema>;

const known = new WeakMap<object, EventSchemas>();

/**
 * The schemas of a machine's events, by type. For our own machines they are the events that may be sent from outside;
 * for any other, those of `setup({ schemas: { events } })`: for each type, or for all events as one union, a Standard
 * Schema (zod and others) or a JSON Schema.
 *
 * @example
 * setup({ schemas: { events: { 'order.placed': z.object({ quantity: z.int().min(1) }) } } });
 */
export function eventSchemas(machine: AnyStateMachine): EventSchemas {
  const before = known.get(machine.config);
  if (before !== undefined) return before;
  const schemas = OURS.has(machine.config) ? ownSchemas(machine) : givenSchemas(machine);
  known.set(machine.config, schemas);
  return schemas;
}

const OURS: ReadonlySet<object> = new Set([agentMachine.config, toolCallMachine.config, loopDetectionMachine.config]);

function ownSchemas(machine: AnyStateMachine): EventSchemas {
  const taken = Object.entries(OUTSIDE_EVENTS).filter(([type]) => machine.events.includes(type));
  return new Map(taken.map(([type, json]) => [type, { json, standard: null }]));
}

function givenSchemas(machine: AnyStateMachine): EventSchemas {
  try {
    const events: unknown = Reflect.get(Object(machine.schemas), 'events');
    const union = unionOf(events);
    if (union !== null) return union;
    return new Map(
      Object.entries(Object(events)).flatMap(([type, given]) => {
        const schema = schemaOf(given);
        return schema === null ? [] : [[type, schema]];
      }),
    );
  } catch {
    return new Map();
  }
}

/** The schemas by type if one schema covers all events; null where there is one for each type. */
function unionOf(events: unknown): EventSchemas | null {
  if (!isStandard(events) && !(isJsonObject(events) && (isList(events.oneOf) || isList(events.anyOf)))) return null;
  const whole = schemaOf(events);
  const { json } = whole ?? {};
  if (!isJsonObject(json)) return new Map();
  const { oneOf, anyOf, $defs, definitions, ...single } = json;
  const shared = { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) };
  const branches: readonly Json[] = isList(oneOf) ? oneOf : isList(anyOf) ? anyOf : [single];
  return new Map(
    branches.flatMap((branch) =>
      typesOf(branch).map((type) => [
        type,
        { json: { ...(isJsonObject(branch) ? branch : {}), ...shared }, standard: whole?.standard ?? null },
      ]),
    ),
  );
}

/** The types of events that a branch of a union is for. */
function typesOf(branch: Json): readonly string[] {
  const type: Json = isJsonObject(branch) && isJsonObject(branch.properties) ? (branch.properties.type ?? null) : null;
  if (!isJsonObject(type)) return [];
  const names: readonly Json[] = isList(type.enum) ? type.enum : [type.const ?? null];
  return names.filter((name) => typeof name === 'string');
}

function schemaOf(given: unknown): EventSchema | null {
  if (isStandard(given)) return { json: plainJson(jsonOf(given)), standard: given['~standard'] };
  const json = plainJson(given);
  return json === null ? null : { json, standard: null };
}

function jsonOf(schema: StandardSchema): unknown {
  try {
    const written = writtenAsJson(schema['~standard'], { libraryOptions: { unrepresentable: 'any' } });
    if (written !== undefined || !isZod(schema)) return written;
    return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  } catch {
    return null;
  }
}

/** Versions of zod that do not write themselves as JSON Schema can be written by ours. */
function isZod(schema: object): schema is z.core.$ZodType {
  return '_zod' in schema;
}

const KEYWORDS = ['type', 'properties', '$ref', 'anyOf', 'oneOf', 'allOf'] as const;

/** A JSON Schema as plain data; null for anything else, or if it allows everything. */
function plainJson(given: unknown): JsonSchema | null {
  if (given === false) return given;
  const text = JSON.stringify(given);
  const json: Json = text === undefined ? null : JSON.parse(text);
  if (!isJsonObject(json) || !KEYWORDS.some((keyword) => keyword in json) || schemaProblem(json, '') !== null)
    return null;
  const { $schema: _dialect, '~standard': _standard, ...schema } = json;
  return schema;
}

type SentEvent = { readonly type: string } & JsonObject;

/** The event to give to the machine, as its schema makes it; or why the machine does not get it. */
type CheckedEvent =
  | { readonly ok: true; readonly event: { readonly type: string } }
  | { readonly ok: false; readonly message: string };

/** Checks an event against the schema of its type. An event without a known schema passes unchanged. Never rejects. */
export async function checkEvent(event: SentEvent, schema: EventSchema | undefined): Promise<CheckedEvent> {
  if (schema === undefined) return { ok: true, event };
  if (schema.json === false)
    return { ok: false, message: `Events such as ${event.type} are made by the machine itself.` };
  if (schema.standard !== null) return checkByCode(event, schema.standard);
  const issues = schema.json === null ? [] : eventIssues(event, schema.json);
  return issues.length === 0 ? { ok: true, event } : refused(event, issues.map(issueText));
}

/** The schema may describe the whole event or what it carries beside its type. */
async function checkByCode(event: SentEvent, standard: NonNullable<EventSchema['standard']>): Promise<CheckedEvent> {
  const { type, ...carried } = event;
  let fewest: readonly StandardIssue[] | null = null;
  try {
    for (const value of [event, carried]) {
      const result = await standard.validate(value);
      if (result.issues === undefined)
        return { ok: true, event: isJsonObject(result.value) ? { ...result.value, type } : event };
      if (fewest === null || result.issues.length < fewest.length) fewest = result.issues;
    }
  } catch (error) {
    return { ok: false, message: `The schema of ${type} failed: ${describeThrown(error).message}` };
  }
  return refused(event, (fewest ?? []).map(standardText));
}

const MOST_ISSUES = 5;

function refused({ type }: SentEvent, issues: readonly string[]): CheckedEvent {
  const more = issues.length > MOST_ISSUES ? `; and ${issues.length - MOST_ISSUES} more` : '';
  return { ok: false, message: `This is not a valid ${type} (${issues.slice(0, MOST_ISSUES).join('; ')}${more}).` };
}

function standardText({ path = [], message }: StandardIssue): string {
  const place = Array.from(path, (step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return place === '' ? message : `${place}: ${message}`;
}
