import { ModelError, type ModelErrorCode } from '../../actors/model.ts';
import { endpointText, howToSetKey, type Endpoint, secretKey } from '../endpoint/endpoint.ts';
import { readRetryAfter } from '../../actors/retry-after.ts';
import { isJsonObject, type JsonObject, parsedText, memberOf } from '../../json/json.ts';
import { isError } from '../../json/to-json.ts';

/** What a request was about, for the text of its failure. */
export interface RequestContext {
  readonly endpoint: Endpoint;
  readonly model: string;
  /** The models that the server offers, where it was asked; undefined: it has no list, so the address may be wrong. */
  readonly offered: readonly string[] | undefined;
}

/** The headers of a response, by names in lower case. */
export interface ResponseHeaders {
  get(name: string): string | null;
}

/** A response that is an error. */
export interface RefusedRequest {
  readonly kind: 'refused';
  readonly status: number;
  readonly headers: ResponseHeaders | undefined;
  /** JSON where it is JSON, else its text. */
  readonly body: unknown;
  /** It came after the beginning of a reply: its reason is not the request's form. */
  readonly isLate?: boolean;
}

const OVERFLOW_CODES = ['context_length_exceeded', 'exceed_context_size_error', 'context_window_exceeded', '1261'];
/** A filter that stands before the model did not let the request through. */
const FILTER_CODES =
  'content_filter ResponsibleAIPolicyViolation content_policy_violation data_inspection_failed'.split(' ');
const AUTH_CODES = 'invalid_api_key expired_key authentication_error permission_error API_KEY_INVALID 1004'.split(' ');
const NO_MODEL_CODES = ['model_not_found', 'model_not_available', 'DeploymentNotFound'];
const NOT_FOUND_CODES = [...NO_MODEL_CODES, 'not_found_error'];
const RATE_CODES = ['rate_limit_exceeded', 'rate_limit_error', '1002', '1039'];
/** Nothing is left to spend: waiting does not help. The numbers are GLM's and MiniMax's, as those above. */
const QUOTA_CODES =
  'insufficient_quota budget_exceeded billing_hard_limit_reached billing_not_active billing_error exceeded_current_quota_error insufficient_balance_error Arrearage 1113 1008'.split(
    ' ',
  );
/** Statuses of a request that may succeed later; 498 is Groq's. */
const PASSING = [409, 425, 498];

/** Node's names for a connection that was there and went away. */
const HUNG_UP = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];

/** Node's names for untrusted certificates. */
const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|CERT_/;

/** Node's names for an answer that is not HTTP, or not TLS. */
const UNREADABLE = /^(?:HPE_|EPROTO$|ERR_SSL_|UND_ERR_HEADERS_OVERFLOW$)/;

/** What proxies say. */
const PROXY_TEXTS: ReadonlyMap<number, string> = new Map([
  [407, 'A proxy asks for a user and a password; write them into HTTP_PROXY: http://user:password@host:port'],
  [413, 'The request is larger than the server, or a proxy before it, accepts; send less, or raise that limit'],
]);

const PAGE_TEXT =
  'A proxy or a gateway answered with a web page, in the place of the server; see whether that runs, and check HTTP_PROXY and NO_PROXY';

/** Turns an HTTP error into a {@link ModelError} by its status and structured codes, with a message that says what to do. */
export function failureOf(refusal: RefusedRequest, context: RequestContext): ModelError {
  const error = readServerError(refusal.body);
  const status = statusOf(refusal, error);
  const known = codeOf(status, error);
  const code = known === 'model-not-found' && isAboutPath(status, error, context) ? 'endpoint-not-found' : known;
  const byPage = isPage(refusal.body) && (status === 403 || status > 500) ? PAGE_TEXT : undefined;
  const text = PROXY_TEXTS.get(status) ?? byPage ?? TEXTS[code]?.(context, error) ?? 'The server failed; see its log';
  const location = status >= 300 && status < 400 ? (refusal.headers?.get('location') ?? '') : '';
  const elsewhere = location === '' ? '' : ` It points to ${location}: if that is right, make it the base URL.`;
  const said = error.message === '' ? '' : ` The server said: ${withoutKey(error.message, context.endpoint)}`;
  return new ModelError(
    code,
    `${text} (HTTP ${String(status)} from ${endpointText(context.endpoint)}).${elsewhere}${said}`,
    {
      status,
      retryAfterMs: readRetryAfter(refusal.headers, Date.now()) ?? error.retryAfterMs,
      ...(code === 'malformed-tool-call' ? { data: { text: malformedText(error), message: error.message } } : {}),
    },
  );
}

/** The status that counts: an error that came with HTTP 200 may carry its own. */
export function statusOf({ status }: RefusedRequest, error: ServerError): number {
  return status < 300 && error.status !== undefined ? error.status : status;
}

/** The stable code of an HTTP error. */
export function codeOf(status: number, error: ServerError): ModelErrorCode {
  const names = [error.code, error.type, error.innerCode];
  const says = (codes: readonly string[]) => names.some((name) => name !== undefined && codes.includes(name));
  if (error.code === 'tool_use_failed' || couldNotParseToolCall(status, error)) return 'malformed-tool-call';
  if (says(FILTER_CODES)) return 'content-filter';
  // vLLM names what is too long; 413 is Groq's, and that of proxies.
  if (says(OVERFLOW_CODES) || error.param === 'input_tokens' || status === 413) return 'context-overflow';
  if (status === 401 || status === 403 || says(AUTH_CODES)) return 'auth';
  if (status === 402 || says(QUOTA_CODES)) return 'quota-exhausted';
  if (status === 429 || says(RATE_CODES)) return 'rate-limited';
  if (status === 404 || says(NOT_FOUND_CODES)) return 'model-not-found';
  if (status === 408) return 'timeout';
  if (status >= 500 || status < 300 || PASSING.includes(status)) return 'server-error';
  return status >= 400 ? 'bad-request' : 'bad-response';
}

/** A 404 is about the URL if it does not mention a model and the server has no model list at this URL, or lists the model. */
function isAboutPath(status: number, error: ServerError, { offered, model }: RequestContext): boolean {
  if (status !== 404 || error.param === 'model') return false;
  if ([error.code, error.type].some((name) => name !== undefined && NO_MODEL_CODES.includes(name))) return false;
  return offered === undefined || offered.includes(model);
}

/**
 * The one place where an error's text decides something: llama.cpp and Ollama answer 500 without a code when they
 * cannot read the tool call that the model wrote. That is a malformed reply, not an outage.
 */
function couldNotParseToolCall(status: number, { message, code }: ServerError): boolean {
  return status === 500 && code === undefined && /pars(?:e|ing) (?:the )?tool call|parse input at pos/i.test(message);
}

/** What the model wrote, where the server quotes it; never the server's own words, which would pass for a reply. */
function malformedText({ failedGeneration, message }: ServerError): string {
  const quoted = /raw='(.*)', err=/s.exec(message) ?? /parse input at pos \d+: (.*)$/s.exec(message);
  return failedGeneration ?? quoted?.[1] ?? '';
}

type Text = (context: RequestContext, error: ServerError) => string;

const TEXTS: { readonly [code in ModelErrorCode]?: Text } = {
  auth: ({ endpoint }) => `The API key was not accepted; ${howToSetKey(endpoint)}`,
  'model-not-found': ({ model, offered = [] }) => `The server has no model '${model}'${offers(offered)}`,
  'endpoint-not-found': () =>
    'The server has no chat completions at this address; check that the base URL ends where /chat/completions begins (often /v1)',
  'quota-exhausted': () => 'The account has nothing left to spend; look at its plan and billing',
  'rate-limited': () => 'The server refused the request because its rate limit was reached; wait, or raise the limit',
  'context-overflow': ({ model }) =>
    `The conversation is longer than the context of '${model}'; shorten it or raise the server's context size`,
  'content-filter': () => 'A content filter of the server did not let the request through',
  'malformed-tool-call': ({ model }) => `'${model}' wrote a tool call that its server could not read`,
  'bad-request': ({ model }, error) =>
    isTooManyTools(error)
      ? `'${model}' takes fewer tools than it was offered; give the agent fewer, or lower limits.mcp.toolsSent for those of MCP servers`
      : `The server refused the request${error.param === undefined ? '' : ` because of '${error.param}'`}`,
  'bad-response': () => 'The server answered with something other than a reply; check the base URL',
};

function offers(models: readonly string[]): string {
  if (models.length === 0) return '; check the name';
  const shown = models.slice(0, 20).join(', ');
  return `; it offers ${shown}${models.length > 20 ? ` and ${String(models.length - 20)} more` : ''}`;
}

/** Nothing answered at an endpoint: `connect-failed`, or `timeout` with the phase `connect`. */
export function connectFailed(endpoint: Endpoint, cause: unknown): ModelError {
  const code = systemCode(cause);
  if (code === 'ETIMEDOUT' || (isError(cause) && cause.name === 'ConnectTimeout')) {
    const text = `No connection to ${endpointText(endpoint)} in time: check the address, or raise timeouts.connectMs.`;
    return new ModelError('timeout', text, { cause, data: { phase: 'connect' } });
  }
  const data = code === undefined ? {} : { data: { cause: code } };
  return new ModelError('connect-failed', whyUnreached(endpoint, code ?? '', cause), { cause, ...data });
}

function whyUnreached(endpoint: Endpoint, code: string, cause: unknown): string {
  const place = endpointText(endpoint);
  const reason = code === '' ? '' : ` (${code})`;
  const scheme = new URL(endpoint.baseURL).protocol.slice(0, -1);
  const proxy = proxyError(cause);
  if (proxy !== undefined)
    return `Cannot reach ${place}${reason}: ${proxy.message}. Check ${scheme.toUpperCase()}_PROXY and NO_PROXY.`;
  if (HUNG_UP.includes(code)) return `${place} hung up before it answered${reason}: see its log.`;
  if (UNTRUSTED.test(code))
    return `The certificate of ${place} is not trusted${reason}: name its authority in NODE_EXTRA_CA_CERTS.`;
  if (UNREADABLE.test(code))
    return `${place} was reached, but does not speak ${scheme}${reason}: check the scheme and the port.`;
  const start = endpoint.preset?.howToStart ?? 'check that it is running';
  const how = code === 'ERR_ACCESS_DENIED' ? 'start Node with --allow-net' : start;
  return `Cannot reach ${place}${reason}: ${how}, or set another baseURL.`;
}

function proxyError(error: unknown): Error | undefined {
  if (!isError(error)) return undefined;
  return error.name === 'ProxyError' ? error : proxyError(error.cause);
}

/** Node's name for a network failure, such as `ECONNREFUSED`, wherever in the chain of causes it stands. */
function systemCode(error: unknown): string | undefined {
  if (!isError(error)) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return systemCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}

function withoutKey(text: string, endpoint: Endpoint): string {
  const key = secretKey(endpoint.apiKey);
  return key === undefined ? text : text.replaceAll(key, '«api key»');
}

/** A server's error, in the fields that servers agree on. Only `message` is for people. */
export interface ServerError {
  readonly message: string;
  readonly code: string | undefined;
  /** A second, narrower code: Azure's, Google's, OpenRouter's, or that of the provider behind it. */
  readonly innerCode: string | undefined;
  readonly type: string | undefined;
  /** The request's field that is to blame. */
  readonly param: string | undefined;
  readonly status: number | undefined;
  /** The text that a server could not read as a tool call (Groq's `failed_generation`). */
  readonly failedGeneration: string | undefined;
  /** How long to wait, where the body says so. */
  readonly retryAfterMs: number | undefined;
}

const MAX_MESSAGE = 600;

/** Reads an error body in any of the forms in use: OpenAI's, Ollama's, vLLM's, FastAPI's, Gemini's list, plain text. */
export function readServerError(body: unknown): ServerError {
  const outer = firstOf(body);
  // Cloudflare's gateway sends a list of errors, its models one under another name.
  const said = isJsonObject(outer)
    ? firstOf(outer['error'] ?? outer['base_resp'] ?? (messageOf(outer) === '' ? (outer['errors'] ?? outer) : outer))
    : outer;
  // Groq's, in a stream, may lie in another.
  const within = memberOf(said, 'message') === undefined ? memberOf(said, 'error') : undefined;
  const inner: JsonObject = [within, said].find(isJsonObject) ?? { message: textOf(said) ?? '' };
  // Ollama hands on its runner's error whole, as JSON in the text of its own.
  const wrapped = parsedText(messageOf(inner));
  if (isJsonObject(wrapped) && isJsonObject(wrapped['error'])) return readServerError(wrapped);
  const code = wordOf(inner['code'] ?? inner['status_code']);
  const isStatus = code !== undefined && /^[1-5]\d\d$/.test(code);
  const facts = [inner['details'], inner['metadata']].flat().filter((fact) => isJsonObject(fact));
  const fact = (name: string) => facts.map((one) => textOf(one[name])).find((value) => value !== undefined);
  // What the provider behind a router said.
  const raw = fact('raw') ?? '';
  const behind = raw === '' ? undefined : readServerError(parsedText(raw) ?? raw);
  const narrower = textOf(memberOf(inner['innererror'] ?? inner['inner_error'], 'code'));
  const flagged = fact('flagged_input') === undefined ? undefined : 'content_filter';
  const waits = Number.parseFloat(fact('retryDelay') ?? '');
  return {
    message: shortened([messageOf(inner), behind?.message].filter(Boolean).join(': ')),
    code: isStatus ? undefined : code,
    innerCode: narrower ?? fact('error_type') ?? fact('reason') ?? flagged ?? behind?.code,
    type: wordOf(inner['type']),
    param:
      wordOf(inner['param']) ?? fieldOfDetail(inner['detail'] ?? memberOf(inner['message'], 'detail')) ?? behind?.param,
    status: isStatus ? Number(code) : undefined,
    failedGeneration: textOf(inner['failed_generation']),
    retryAfterMs: waits >= 0 ? waits * 1000 : undefined,
  };
}

/** The server takes tools, but not so many in one request; OpenAI takes 128. */
export function isTooManyTools({ code, param }: ServerError): boolean {
  return code === 'array_above_max_length' && param === 'tools';
}

/** The request's top-level field that the error names, such as `stream_options` for `stream_options.include_usage`. */
export function blamedField(error: ServerError): string | undefined {
  return error.param?.split(/[.[]/, 1)[0];
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function messageOf(error: JsonObject): string {
  const said = error['message'] ?? error['detail'] ?? error['error'] ?? error['status_msg'];
  if (typeof said === 'string') return said;
  return said === undefined || said === null ? '' : JSON.stringify(said);
}

/** FastAPI's form: `detail: [{ loc: ['body', 'stream_options'], … }]`. */
function fieldOfDetail(detail: unknown): string | undefined {
  const place = memberOf(Array.isArray(detail) ? detail[0] : undefined, 'loc');
  return Array.isArray(place) && place[0] === 'body' ? textOf(place[1]) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** LiteLLM writes Python's word where it has nothing to say. */
function wordOf(value: unknown): string | undefined {
  return value === 'None' ? undefined : textOf(typeof value === 'number' ? String(value) : value);
}

/** What a proxy shows to people in a browser. */
function isPage(body: unknown): boolean {
  return typeof body === 'string' && body.trimStart().startsWith('<');
}

function shortened(text: string): string {
  const line = isPage(text) ? '' : text.trim();
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line;
}
