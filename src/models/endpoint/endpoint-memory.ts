/**
 * What is known of tool calls at an endpoint. `doubted`: a request with tools was refused without saying why, and the
 * next request without tools decides: if it succeeds, the tools were the reason.
 */
export type ToolSupport = 'unknown' | 'works' | 'doubted' | 'refused';

/** What was learnt about one model at one endpoint, kept while the process lives. */
export interface EndpointMemory {
  tools: ToolSupport;
  /** A reply had native tool calls. */
  callsNatively: boolean;
  /** Top-level fields of the request that the server refused. */
  readonly refused: Set<string>;
  /** Those that no reply has confirmed yet: the request may have failed for another reason. */
  readonly untold: Set<string>;
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
  const fresh: EndpointMemory = { tools: 'unknown', callsNatively: false, refused: new Set(), untold: new Set() };
  memories.set(key, fresh);
  return fresh;
}

/**
 * Takes in that a request succeeded: one with tools proves that they work; one without proves the doubt that a refusal
 * left, unless something else was left out beside the tools.
 */
export function rememberSuccess(memory: EndpointMemory, withTools: boolean, alsoLeftOut: readonly string[]): void {
  for (const field of alsoLeftOut) memory.refused.add(field);
  if (withTools) memory.tools = 'works';
  else if (memory.tools === 'doubted') memory.tools = alsoLeftOut.includes('stream_options') ? 'unknown' : 'refused';
}

/** Takes in that a request without tools was refused too: the tools were not the reason. */
export function forgetDoubt(memory: EndpointMemory): void {
  if (memory.tools === 'doubted') memory.tools = 'unknown';
}
