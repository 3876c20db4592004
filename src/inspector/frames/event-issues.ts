import type { Issue } from '../../json/errors.ts';
import { type Json, type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';
import { formatProblem } from '../../parsing/schema/check-bounds.ts';
import { issuesOf } from '../../parsing/schema/fit.ts';

/**
 * What is wrong with an event by the schema of its type, `format` of its members included. The schema may describe the
 * whole event or what it carries beside its type: what fits either way is right.
 */
export function eventIssues(event: { readonly type: string } & JsonObject, schema: JsonSchema): readonly Issue[] {
  const { type: _type, ...carried } = event;
  const without = valueIssues(carried, schema);
  if (without.length === 0) return without;
  const whole = valueIssues(event, schema);
  return whole.length < without.length ? whole : without;
}

/** What is wrong with an object by its schema, `format` of its members included. */
export function valueIssues(value: JsonObject, schema: JsonSchema): readonly Issue[] {
  const properties: Json = isJsonObject(schema) ? (schema.properties ?? null) : null;
  const formats = Object.entries(value).flatMap(([name, member]): readonly Issue[] => {
    const own = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
    const message = formatProblem(member, own);
    return message === null ? [] : [{ path: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, message }];
  });
  const told = new Set(formats.map(({ path }) => path));
  return [...formats, ...issuesOf(value, schema).filter(({ path }) => !told.has(path))];
}

/** An issue as people read it: `address.street: is required`. */
export function issueText({ path, message }: Issue): string {
  const place = pointerSteps(path).join('.');
  return place === '' ? message : `${place}: ${message}`;
}

/** The steps of a JSON Pointer. */
export function pointerSteps(path: string): readonly string[] {
  return path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** True for events that a transition's descriptor matches: `a.*` describes `a`, `a.b` and `a.b.c`, `*` everything. */
export function describes(descriptor: string, type: string): boolean {
  if (descriptor === type || descriptor === '*') return true;
  return descriptor.endsWith('.*') && `${type}.`.startsWith(descriptor.slice(0, -1));
}
