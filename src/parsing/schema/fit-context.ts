import type { Issue } from '../../json/errors.ts';
import { type Json, type JsonObject, type JsonSchema, isJsonObject } from '../../json/json.ts';
import type { Repair } from '../repair/repairs.ts';

/** Holds a value against a schema and returns what fits: the same value by reference when nothing had to change. */
export type Fit = (value: Json, schema: JsonSchema, context: FitContext) => Json;

/** Reads a value as the type that a schema asks for; undefined when there is no safe reading. */
type Coerce = (type: Json, value: Json, context: FitContext) => Json | undefined;

const DEEPEST = 256;
const MOST_ISSUES = 50;
/** How many schema nodes one value may be checked against: a schema that refers to itself in unions would never end. */
const MOST_STEPS = 200_000;

/**
 * What one fitting of a value to a schema collects: issues and repairs, each with its path.
 * With `coerce` false nothing is changed: the value is only checked, and a caller that only checks need not carry how to coerce.
 */
export class FitContext {
  readonly root: JsonSchema;
  readonly coerce: Coerce | false;
  /** True for a value that was cut off: what is missing is not an issue. */
  readonly partial: boolean;
  readonly issues: Issue[] = [];
  readonly repairs: Repair[] = [];
  readonly path: (string | number)[] = [];
  cost = 0;
  depth = 0;
  private readonly work: { steps: number };

  constructor(
    root: JsonSchema,
    how: { readonly coerce: Coerce | false; readonly partial?: boolean },
    work = { steps: 0 },
  ) {
    this.root = root;
    this.coerce = how.coerce;
    this.partial = how.partial === true;
    this.work = work;
  }

  /** A context for trying one branch of a union: same root, path and effort, but its own issues and repairs. */
  branch(coerce: boolean): FitContext {
    const how = { coerce: coerce && this.coerce, partial: this.partial };
    const branch = new FitContext(this.root, how, this.work);
    branch.path.push(...this.path);
    branch.depth = this.depth;
    return branch;
  }

  /** Takes over what a branch that was chosen has collected. */
  adopt(branch: FitContext): void {
    for (const issue of branch.issues) if (this.issues.length < MOST_ISSUES) this.issues.push(issue);
    this.repairs.push(...branch.repairs);
    this.cost += branch.cost;
  }

  /** True while neither the depth nor the effort is used up. */
  mayDescend(): boolean {
    this.work.steps += 1;
    return this.depth < DEEPEST && this.work.steps < MOST_STEPS;
  }

  issue(message: string, key?: string): void {
    if (this.issues.length < MOST_ISSUES) this.issues.push({ path: pointer(this.path, key), message });
  }

  repair(kind: string, message: string, cost: number): void {
    this.cost += cost;
    this.repairs.push({ kind, message, path: pointer(this.path), cost });
  }

  /** The schema that a local `$ref` names; undefined when it is not there or lies outside the document. */
  resolve(ref: string): JsonSchema | undefined {
    if (ref === '#') return this.root;
    if (!ref.startsWith('#/')) return anchorsOf(this.root).get(ref.replace('#', ''));
    let node: Json | undefined = this.root;
    for (const part of ref.slice(2).split('/')) {
      const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
      if (Array.isArray(node)) node = node[Number(key)];
      else if (isJsonObject(node) && Object.hasOwn(node, key)) node = node[key];
      else return undefined;
    }
    return isSchema(node) ? node : undefined;
  }
}

const anchors = new WeakMap<JsonObject, ReadonlyMap<Json, JsonSchema>>();

/** The schemas within one that have a name to refer to, wherever they stand. */
function anchorsOf(root: JsonSchema): ReadonlyMap<Json, JsonSchema> {
  const found = new Map<Json, JsonSchema>();
  if (!isJsonObject(root)) return found;
  const known = anchors.get(root);
  if (known !== undefined) return known;
  const nodes: Json[] = [root];
  for (const node of nodes) {
    if (typeof node !== 'object' || node === null) continue;
    for (const part of Object.values(node)) nodes.push(part);
    if (!isJsonObject(node)) continue;
    for (const name of [node['$id'], node['$anchor'], node['$dynamicAnchor']])
      if (typeof name === 'string') found.set(name.replace('#', ''), node);
  }
  anchors.set(root, found);
  return found;
}

/** True for what can stand where a schema is expected. */
export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'boolean' || isJsonObject(value);
}

/** The member of a schema when it is itself an object of schemas. */
export function schemaMap(schema: JsonObject, key: string): JsonObject | undefined {
  const map = schema[key];
  return isJsonObject(map) ? map : undefined;
}

/** A path as a JSON Pointer. */
export function pointer(path: readonly (string | number)[], key?: string): string {
  const parts = key === undefined ? path : [...path, key];
  return parts.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** A part of a URL as it is meant; as it stands where it cannot be read. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
