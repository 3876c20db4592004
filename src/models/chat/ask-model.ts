import { waitAtMost } from '../../actors/deadline.ts';
import {
  ModelError,
  type ModelIo,
  type ModelReply,
  type ModelRequest,
  type ModelErrorCode,
} from '../../actors/model.ts';
import type { JsonObject } from '../../json/json.ts';
import { sentName } from '../../tools/lookup.ts';
import type { Connection } from './model-connection.ts';
import {
  forgetDoubt,
  refusedFields,
  rememberRefusal,
  rememberSuccess,
  type EndpointMemory,
} from '../endpoint/endpoint-memory.ts';
import { type EncodedRequest, encodeRequest, LONG_DESCRIPTIONS, MOST_DESCRIBED } from './encode-request.ts';
import { isInStrictOrder } from './strict-order.ts';
import { type StateSending, withOwnState } from './returned-state.ts';
import { sendRequest } from './send-request.ts';
import {
  failureOf,
  type RefusedRequest,
  codeOf,
  statusOf,
  blamedField,
  isTooManyTools,
  readServerError,
  type ServerError,
} from './failure.ts';
import { endpointText, type Endpoint } from '../endpoint/endpoint.ts';

/** Where a request goes, and what is known of the place. */
export interface Destination {
  readonly connection: Connection;
  /** The model's name. */
  readonly name: string;
  readonly memory: EndpointMemory;
  /** Added to every request unchanged. */
  readonly extra: JsonObject | undefined;
  /** What the model gets back from its earlier replies. */
  readonly state: StateSending;
  readonly connectMs: number;
  readonly responseMs: number;
}

/**
 * Asks until there is a reply or nothing is left to try: a field that the server refuses is left out and the request
 * sent again; a model that is being loaded is waited for as long as for a reply. What a success proves is remembered.
 * Rejects with a {@link ModelError}.
 */
export async function askModel(to: Destination, request: ModelRequest, io: ModelIo): Promise<ModelReply> {
  const { connection, name: model, memory, extra, state, responseMs } = to;
  const { endpoint } = connection;
  const client = await connection.client(to.connectMs);
  const isOpenAI = endpoint.isOpenAI ?? client.isOpenAI;
  const suspected: string[] = [];
  const began = performance.now();
  let order: 'as given' | 'strict' | 'refused' = memory.strictOrder ? 'strict' : 'as given';

  for (;;) {
    const refused = refusedFields(memory, request.responseSchema);
    const without = suspected.length === 0 ? refused : new Set([...refused, ...suspected]);
    const form = order === 'strict' ? { ...state, isStrict: true } : state;
    const sent = encodeRequest(request, { model, without, isOpenAI, extra, state: form });
    // Each try depends on what the last one taught.
    const result = await sendRequest({ client, endpoint, body: sent.body, responseMs, io });
    if (result.kind === 'reply') {
      for (const field of suspected) rememberRefusal(memory, field, request.responseSchema);
      rememberSuccess(memory, sent, suspected);
      memory.strictOrder ||= order === 'strict';
      memory.takesResults ||= sent.withTools && hasResults(request);
      const news = [...memory.untold, ...suspected].map((field) => leftOut(field, memory, endpoint));
      memory.untold.clear();
      return withWarnings(withOwnNames(withOwnState(result.reply, state), request), news);
    }
    if (isLoading(result) && performance.now() - began < responseMs) {
      await waitAtMost(LOOK_AGAIN_MS, io.signal);
      continue;
    }
    const lesson = learnFromRefusal(result, sent, { request, memory, mayReorder: order === 'as given' });
    const isAboutField = lesson.kind === 'leave-out' && lesson.isSure;
    if (order === 'strict' && !memory.strictOrder && !isAboutField) order = 'refused';
    if (lesson.kind === 'reorder') {
      order = 'strict';
    } else if (isAboutField) {
      rememberRefusal(memory, lesson.field, request.responseSchema);
      memory.untold.add(lesson.field);
    } else if (lesson.kind === 'leave-out') {
      suspected.push(lesson.field);
    } else if (lesson.kind === 'no-tools') {
      throw noTools(to, result, lesson.isSure);
    } else {
      throw await lastFailure(to, result, { withTools: sent.withTools, signal: io.signal });
    }
  }
}

/** llama.cpp refuses what comes while it loads its model, which others keep waiting. */
function isLoading({ status, headers, body }: RefusedRequest): boolean {
  return status === 503 && headers?.get('server') === 'llama.cpp' && readServerError(body).type === 'unavailable_error';
}

const LOOK_AGAIN_MS = 500;

/** Refusals that would have come with tools as well. */
const PLAIN_REFUSALS: readonly string[] = ['bad-request', 'model-not-found', 'endpoint-not-found'];
function noTools({ connection, name, memory }: Destination, refusal: RefusedRequest, isSure: boolean): ModelError {
  memory.tools = isSure ? 'refused' : 'doubted';
  const text = `'${name}' takes no native tool calls at ${endpointText(connection.endpoint)}.`;
  return new ModelError('no-native-tools', text, { status: refusal.status });
}

async function lastFailure(
  to: Destination,
  refusal: RefusedRequest,
  sent: { readonly withTools: boolean; readonly signal: AbortSignal },
): Promise<ModelError> {
  const { connection, name: model, memory } = to;
  const offered = refusal.status === 404 ? await connection.offered(sent.signal) : [];
  // Routers answer 404 if none of their servers supports tools, although they know the model.
  // OpenRouter's names may have a way of routing behind them, as `:nitro`.
  const isOffered = offered?.some((name) => name === model || name === model.replace(/:[^:/]+$/, '')) === true;
  if (sent.withTools && memory.tools !== 'works' && isOffered) return noTools(to, refusal, false);
  const error = failureOf(refusal, { endpoint: connection.endpoint, model, offered });
  if (!sent.withTools && PLAIN_REFUSALS.includes(error.code)) forgetDoubt(memory);
  return error;
}

/** What gpt-oss, Kimi and Gemini write around the name of a tool, where a server overlooks it. */
const AROUND_NAME = /^(?:functions|default_api)[.:]|<\|.*|:\d+$/gs;

/** The calls of a reply by the names that the tools have, not by those under which they were sent. */
export function withOwnNames(reply: ModelReply, { tools = [] }: ModelRequest): ModelReply {
  if (reply.toolCalls === undefined) return reply;
  const own = (sent: string) => tools.find(({ name }) => name === sent || sentName(name) === sent)?.name;
  const named = (sent: string) => own(sent) ?? own(sent.replace(AROUND_NAME, '')) ?? sent;
  return { ...reply, toolCalls: reply.toolCalls.map((call) => ({ ...call, name: named(call.name) })) };
}

function withWarnings(reply: ModelReply, news: readonly string[]): ModelReply {
  return news.length === 0 ? reply : { ...reply, warnings: [...(reply.warnings ?? []), ...news] };
}

function leftOut(field: string, { refused }: EndpointMemory, endpoint: Endpoint): string {
  const where = endpointText(endpoint);
  if (field === LONG_DESCRIPTIONS)
    return `${where} refused the description of a tool, so each is cut to ${MOST_DESCRIBED} characters from now on.`;
  const what = refused.has(field) ? `'${field}'` : `this schema in '${field}'`;
  return `${where} refused ${what}, so it is left out from now on.`;
}

/** What to do after a refusal. */
type Lesson =
  /** Ask again without this field. `isSure: false`: the server did not say why; only a success proves it. */
  | { readonly kind: 'leave-out'; readonly field: string; readonly isSure: boolean }
  /** Ask again with the messages in strict order, which may be the reason. */
  | { readonly kind: 'reorder' }
  /** The server takes no tools, or `isSure: false`: tools are the likeliest reason. */
  | { readonly kind: 'no-tools'; readonly isSure: boolean }
  | { readonly kind: 'failed' };

const REFUSALS = [400, 404, 422, 501];
const LIMITS = ['max_tokens', 'max_completion_tokens'];
const isLimit = (field: string): boolean => LIMITS.includes(field);
const TOOL_FIELDS = ['tools', 'tool_choice', 'functions'];
const TOOL_CODES = /^(?:unsupported_tools?|tools?(?:_use|_calls?|_calling)?_(?:not_supported|unsupported))$/;

/** Fields added by us that a server may reject without naming them, the likeliest first. */
const SUSPECTS = ['response_format', 'stream_options'];

/** What decides beside the refusal. */
interface Refused {
  readonly request: ModelRequest;
  readonly memory: EndpointMemory;
  readonly mayReorder: boolean;
}

/** Reads out of a refusal, by structured fields alone, what the server cannot do. */
function learnFromRefusal(
  refusal: RefusedRequest,
  sent: EncodedRequest,
  { request, memory, mayReorder }: Refused,
): Lesson {
  if (refusal.isLate === true) return { kind: 'failed' };
  const error = readServerError(refusal.body);
  const status = statusOf(refusal, error);
  const blamed = blamedField(error);
  // Whichever of its two names was sent.
  const named = blamed !== undefined && isLimit(blamed) ? sent.optional.find(isLimit) : blamed;
  const field = /^tools\[\d+\]\.function\.description$/.test(error.param ?? '') ? LONG_DESCRIPTIONS : named;
  const code = codeOf(status, error);

  if (REFUSALS.includes(status)) {
    if (sent.withTools && namesTools(error, field)) return { kind: 'no-tools', isSure: true };
    if (field !== undefined && sent.optional.includes(field)) return { kind: 'leave-out', field, isSure: true };
  }
  if (!isUnexplained(refusal, error, status, code)) return { kind: 'failed' };
  if (mayReorder && !isInStrictOrder(request)) return { kind: 'reorder' };
  if (sent.withTools) {
    // A template may know tools and not their results.
    const works = memory.tools === 'works' && (memory.takesResults || !hasResults(request));
    return works ? { kind: 'failed' } : { kind: 'no-tools', isSure: false };
  }
  const suspect = SUSPECTS.find((name) => sent.optional.includes(name));
  return suspect === undefined ? { kind: 'failed' } : { kind: 'leave-out', field: suspect, isSure: false };
}

const hasResults = ({ messages }: ModelRequest): boolean => messages.some(({ role }) => role === 'tool');

function namesTools(error: ServerError, field: string | undefined): boolean {
  if ([error.code, error.type].some((name) => name !== undefined && TOOL_CODES.test(name))) return true;
  if (field === undefined || !TOOL_FIELDS.includes(field) || isTooManyTools(error)) return false;
  // `tools[0].function.parameters` is a schema that the server dislikes, unless it says that it knows no tools.
  return error.param === field || (error.code?.startsWith('unsupported') ?? false);
}

/**
 * A refusal that names neither field nor reason, as Ollama's of tools. A 500 only counts from llama.cpp, which uses it
 * for tools that its template cannot take; from others it is an outage.
 */
function isUnexplained(refusal: RefusedRequest, error: ServerError, status: number, code: ModelErrorCode): boolean {
  if (error.param !== undefined) return false;
  if (status === 500) return code === 'server-error' && refusal.headers?.get('server') === 'llama.cpp';
  return (code === 'bad-request' && REFUSALS.includes(status)) || status === 501;
}
