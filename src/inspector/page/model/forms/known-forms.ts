import type { RecordLine } from '../../../../journal/format/record.ts';
import { type Json, type JsonObject, isJsonObject, type JsonSchema } from '../../../../json/json.ts';
import { jsonEquals } from '../../../../parsing/schema/json-types.ts';
import { describes, valueIssues, eventIssues } from '../../../frames/event-issues.ts';
import { schemaFields } from './schema-fields.ts';
import type { FormKind } from './form-state.ts';
import type { MachineDrawing, StateDrawing } from '../../../frames/protocol.ts';

/**
 * A form for the arguments of a call, from what the recording says of its tool. Written as JSON where several tools of
 * that name differ, or the arguments are none of that tool, as with a question to a person.
 */
export function argumentsForm(records: readonly (RecordLine | undefined)[], tool: string, args: Json): FormKind {
  const [schema, ...others] = schemasOf(toolsets(records), tool);
  if (!isJsonObject(schema) || !isJsonObject(args) || others.some((other) => !jsonEquals(other, schema)))
    return WRITTEN;
  const fields = schemaFields(schema);
  const names = new Set(fields?.map(({ name }) => name));
  if (names.size === 0 || Object.keys(args).some((name) => !names.has(name))) return WRITTEN;
  return { fields, issues: (value) => valueIssues(value, schema) };
}

/** The tools that a model of the run can call, each once. */
export function callableTools(records: readonly (RecordLine | undefined)[]): readonly string[] {
  const names = toolsets(records).flatMap((toolset) =>
    isJsonObject(toolset) ? listOf(toolset.tools).map((spec) => (isJsonObject(spec) ? spec.name : null)) : [],
  );
  return [...new Set(names.filter((name) => typeof name === 'string'))];
}

const WRITTEN: FormKind = { fields: null, issues: () => [] };

/** The tools that the run has now: those that its latest change of tools named, else those that it began with. */
function toolsets(records: readonly (RecordLine | undefined)[]): readonly Json[] {
  let toolset: Json = null;
  let children: Json = null;
  for (const record of records) {
    const told: unknown =
      record?.t === 'run'
        ? record
        : record?.t === 'event' && record.event.type === 'tools.changed'
          ? record.event
          : null;
    if (!isJsonObject(told)) continue;
    toolset = told.toolset ?? toolset;
    children = told.children ?? children;
  }
  return [toolset, ...below(children)];
}

function below(children: Json): readonly Json[] {
  return listOf(children).flatMap((child) =>
    isJsonObject(child) && isJsonObject(child.setup)
      ? [child.setup.toolset ?? null, ...below(child.setup.children ?? null)]
      : [],
  );
}

function schemasOf(all: readonly Json[], tool: string): readonly Json[] {
  return all
    .flatMap((toolset): readonly Json[] => (isJsonObject(toolset) ? listOf(toolset.tools) : []))
    .flatMap((spec: Json): readonly JsonObject[] => (isJsonObject(spec) && spec.name === tool ? [spec] : []))
    .map((spec) => spec.inputSchema ?? null);
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** A form for what an event carries beside its type, and what the machine says about it. */
export interface EventForm extends FormKind {
  readonly description: string;
}

/** The form of an event of a machine, as far as its shape is known. */
export function eventForm(drawing: MachineDrawing | undefined, type: string): EventForm {
  const { events = {} } = drawing ?? {};
  const schema: JsonSchema | undefined = Object.hasOwn(events, type) ? events[type] : undefined;
  if (!isJsonObject(schema)) return UNKNOWN;
  return {
    fields: schemaFields(schema)?.filter(({ name }) => name !== 'type') ?? null,
    issues: (value) => eventIssues({ ...value, type }, schema),
    description: typeof schema.description === 'string' ? schema.description : '',
  };
}

const UNKNOWN: EventForm = { fields: null, issues: () => [], description: '' };

/**
 * The events from outside that a machine in these states has a transition for, each once: innermost states first. What a
 * wildcard takes is offered where the machine says which events there are.
 */
export function acceptedEvents(drawing: MachineDrawing, active: ReadonlySet<string>): readonly string[] {
  const { events: schemas = {} } = drawing;
  const known = Object.keys(schemas);
  const events = new Set<string>();
  for (const descriptor of descriptorsOf(drawing, active)) {
    const described = isWildcard(descriptor) ? known.filter((type) => describes(descriptor, type)) : [descriptor];
    for (const type of described) if (schemas[type] !== false) events.add(type);
  }
  return [...events];
}

/** The wildcards that a machine in these states has transitions for, each once. */
export function wildcards(drawing: MachineDrawing, active: ReadonlySet<string>): readonly string[] {
  return [...new Set(descriptorsOf(drawing, active).filter(isWildcard))];
}

/** What the transitions of the active states are for, innermost states first. */
function descriptorsOf({ root }: MachineDrawing, active: ReadonlySet<string>): readonly string[] {
  const visit = (state: StateDrawing): readonly string[] =>
    state.path !== '' && !active.has(state.path)
      ? []
      : [...state.children.flatMap(visit), ...state.transitions.map(({ eventType }) => eventType)];
  return visit(root).filter((type) => type !== '' && !type.startsWith('xstate.'));
}

function isWildcard(descriptor: string): boolean {
  return descriptor === '*' || descriptor.endsWith('.*');
}
