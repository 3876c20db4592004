import type { JsonObject } from '../../json/json.ts';

/**
 * What is known of tool calls at an endpoint. `doubted`: a request with tools was refused without saying why, and the
 * next request without tools decides: if it succeeds, the tools were the reason.
 */
export type ToolSupport = 'unknown' | 'works' | 'doubted' | 'refused';

/** What was learnt about one model at one endpoint, kept while the process lives. */
export interface EndpointMemory {
  tools: ToolSupport;
  /** A request with results of tools was answered. */
  takesResults: boolean;
  /** The model takes conversations only in strict order. */
  strictOrder: boolean;
  /** A reply had native tool calls. */
  callsNatively: boolean;
  /** Top-level fields of the request that the server refused. */
  readonly refused: Set<string>;
  /** Those that no reply has confirmed yet: the request may have failed for another reason. */
  readonly untold: Set<string>;
  /** The schemas, as JSON text, that the server refused as `response_format`; it may take others. */
  readonly refusedSchemas: Set<string>;
  /** A reply to a request with a schema has come. */
  takesSchemas: boolean;
  /** The model's context as reported by the server, once it was asked; null if it reports nothing. */
  context?: KnownContext | null | undefined;
  /** The question after it that is under way. */
  asksContext?: Promise<void> | undefined;
}

/** A model's context as its server reports it. */
export interface KnownContext {
  /** In tokens. */
  readonly size: number;
  /** How to raise it to a size. */
  readonly advice: (size: number) => string;
}

const shared = new Map<string, EndpointMemory>();
const ofClient = new WeakMap<object, Map<string, EndpointMemory>>();

/** The memory of a model at an endpoint, shared by all that reach it the same way: through this `fetch` or client, or ours. */
export function recallEndpoint(baseURL: string, model: string, client: object | undefined): EndpointMemory {
  const memories = client === undefined ? shared : (ofClient.get(client) ?? new Map<string, EndpointMemory>());
  if (client !== undefined) ofClient.set(client, memories);
  const key = `${baseURL} ${model}`;
  const known = memories.get(key);
  if (known !== undefined) return known;
  const fresh: EndpointMemory = {
    tools: 'unknown',
    takesResults: false,
    strictOrder: false,
    callsNatively: false,
    refused: new Set(),
    untold: new Set(),
    refusedSchemas: new Set(),
    takesSchemas: false,
  };
  memories.set(key, fresh);
  return fresh;
}

/**
 * Takes in that the server refused a field. A schema is refused alone, since others may be taken, until a second one is
 * refused and none was taken.
 */
export function rememberRefusal(memory: EndpointMemory, field: string, schema: JsonObject | undefined): void {
  if (field !== SCHEMA_FIELD || schema === undefined) return void memory.refused.add(field);
  if (memory.refusedSchemas.size === MOST_SCHEMAS) memory.refusedSchemas.clear();
  memory.refusedSchemas.add(JSON.stringify(schema));
  if (!memory.takesSchemas && memory.refusedSchemas.size > 1) memory.refused.add(field);
}

/** What a request with this schema is sent without. */
export function refusedFields(memory: EndpointMemory, schema: JsonObject | undefined): ReadonlySet<string> {
  const { refused, refusedSchemas } = memory;
  const isRefused = refusedSchemas.size > 0 && schema !== undefined && refusedSchemas.has(JSON.stringify(schema));
  return isRefused ? new Set([...refused, SCHEMA_FIELD]) : refused;
}

const SCHEMA_FIELD = 'response_format';
const MOST_SCHEMAS = 100;

/**
 * Takes in that a request succeeded: one with tools proves that they work; one without proves the doubt that a refusal
 * left, unless something else was left out beside the tools.
 */
export function rememberSuccess(
  memory: EndpointMemory,
  { withTools, optional }: { readonly withTools: boolean; readonly optional: readonly string[] },
  alsoLeftOut: readonly string[],
): void {
  if (optional.includes(SCHEMA_FIELD)) memory.takesSchemas = true;
  if (withTools) memory.tools = 'works';
  else if (memory.tools === 'doubted') memory.tools = alsoLeftOut.includes('stream_options') ? 'unknown' : 'refused';
}

/** Takes in that a request without tools was refused too: the tools were not the reason. */
export function forgetDoubt(memory: EndpointMemory): void {
  if (memory.tools === 'doubted') memory.tools = 'unknown';
}
