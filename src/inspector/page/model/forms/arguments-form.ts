import type { RecordLine } from '../../../../journal/format/record.ts';
import { type Json, type JsonObject, isJsonObject } from '../../../../json/json.ts';
import { jsonEquals } from '../../../../parsing/schema/json-types.ts';
import { valueIssues } from '../../../frames/event-issues.ts';
import { formFields } from './form-fields.ts';
import type { FormKind } from './form-state.ts';

/**
 * A form for the arguments of a call, from what the recording says of its tool. Written as JSON where several tools of
 * that name differ, or the arguments are none of that tool, as with a question to a person.
 */
export function argumentsForm(records: readonly (RecordLine | undefined)[], tool: string, args: Json): FormKind {
  const [schema, ...others] = schemasOf(toolsets(records), tool);
  if (!isJsonObject(schema) || !isJsonObject(args) || others.some((other) => !jsonEquals(other, schema)))
    return WRITTEN;
  const fields = formFields(schema);
  const names = new Set(fields?.map(({ name }) => name));
  if (names.size === 0 || Object.keys(args).some((name) => !names.has(name))) return WRITTEN;
  return { fields, issues: (value) => valueIssues(value, schema) };
}

const WRITTEN: FormKind = { fields: null, issues: () => [] };

/** The tools that the run has now: those that it was last told of, else those that it began with. */
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
