import { ModelError, type ModelErrorCode } from '../../actors/model.ts';
import type { Endpoint } from '../endpoint/endpoint.ts';
import type { Answer } from './openai-client.ts';
import { readRetryAfter } from '../../actors/retry-after.ts';
import { readServerError, type ServerError } from './server-error.ts';

/** What a request was about, for the text of its failure. */
export interface RequestContext {
  readonly endpoint: Endpoint;
  readonly model: string;
  /** The models that the server offers, where it was asked; undefined: it has no list, so the address may be wrong. */
  readonly offered: readonly string[] | undefined;
}

/** An answer that is an error. */
export type Refusal = Extract<Answer, { readonly kind: 'refused' }>;

const OVERFLOW_CODES = ['context_length_exceeded', 'exceed_context_size_error', 'context_window_exceeded'];
/** A filter that stands before the model did not let the request through. */
const FILTER_CODES = ['content_filter', 'ResponsibleAIPolicyViolation'];
const AUTH_CODES = ['invalid_api_key', 'authentication_error', 'permission_error'];
const NO_MODEL_CODES = ['model_not_found', 'model_not_available'];
const NOT_FOUND_CODES = [...NO_MODEL_CODES, 'not_found_error'];
const RATE_CODES = ['rate_limit_exceeded', 'rate_limit_error'];
/** Nothing is left to spend: waiting does not help. */
const QUOTA_CODES = ['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active', 'billing_error'];

/** Node's names for a connection that was there and went away. */
const HUNG_UP = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];

/** Node's names for certificates that nobody vouches for. */
const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|CERT_/;

/** Turns an HTTP error into a {@link ModelError} by its status and structured codes, with a text that says what to do. */
export function failureOf(refusal: Refusal, context: RequestContext): ModelError {
  const error = readServerError(refusal.body);
  const status = statusOf(refusal, error);
  const known = codeOf(status, error);
  const code = known === 'model-not-found' && isAboutPath(status, error, context) ? 'endpoint-not-found' : known;
  const text = describe(code, error, context);
  const location = status >= 300 && status < 400 ? (refusal.headers?.get('location') ?? '') : '';
  const elsewhere = location === '' ? '' : ` It points to ${location}: if that is right, make it the base URL.`;
  const said = error.message === '' ? '' : ` The server said: ${withoutKey(error.message, context.endpoint)}`;
  return new ModelError(
    code,
    `${text} (HTTP ${String(status)} from ${placeOf(context.endpoint)}).${elsewhere}${said}`,
    {
      status,
      retryAfterMs: readRetryAfter(refusal.headers, Date.now()),
      ...(code === 'malformed-tool-call' ? { data: { text: malformedText(error), message: error.message } } : {}),
    },
  );
}

/** The status that counts: an error that came with HTTP 200 may carry its own. */
export function statusOf({ status }: Refusal, error: ServerError): number {
  return status < 300 && error.status !== undefined ? error.status : status;
}

/** The stable code of an HTTP error. */
export function codeOf(status: number, error: ServerError): ModelErrorCode {
  const names = [error.code, error.type];
  const says = (codes: readonly string[]) => names.some((name) => name !== undefined && codes.includes(name));
  if (error.code === 'tool_use_failed' || couldNotParseToolCall(status, error)) return 'malformed-tool-call';
  if ([error.code, error.innerCode].some((name) => name !== undefined && FILTER_CODES.includes(name)))
    return 'content-filter';
  if (says(OVERFLOW_CODES)) return 'context-overflow';
  if (status === 401 || status === 403 || says(AUTH_CODES)) return 'auth';
  if (status === 402 || says(QUOTA_CODES)) return 'quota-exhausted';
  if (status === 429 || says(RATE_CODES)) return 'rate-limited';
  if (status === 404 || says(NOT_FOUND_CODES)) return 'model-not-found';
  if (status >= 500 || status < 300) return 'server-error';
  return status >= 400 ? 'bad-request' : 'bad-response';
}

/**
 * A 404 is about the address where nothing in it speaks of a model and the server has no model list at this address, or
 * lists the very model.
 */
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

function describe(code: ModelErrorCode, error: ServerError, context: RequestContext): string {
  const { endpoint, model } = context;
  switch (code) {
    case 'auth':
      return `The API key was not accepted; ${howToSetKey(endpoint)}`;
    case 'model-not-found':
      return `The server has no model '${model}'${offers(context.offered ?? [])}`;
    case 'endpoint-not-found':
      return 'The server has no chat completions at this address; check that the base URL ends where /chat/completions begins (often /v1)';
    case 'quota-exhausted':
      return 'The account has nothing left to spend; look at its plan and billing';
    case 'rate-limited':
      return 'The server refused the request because too much was asked of it; wait, or raise its limits';
    case 'context-overflow':
      return `The conversation is longer than the context of '${model}'; shorten it or raise the server's context size`;
    case 'content-filter':
      return 'A content filter of the server did not let the request through';
    case 'malformed-tool-call':
      return `'${model}' wrote a tool call that its server could not read`;
    case 'bad-request': {
      const field = error.param === undefined ? '' : ` because of '${error.param}'`;
      return `The server refused the request${field}`;
    }
    case 'bad-response':
      return 'The server answered with something else than a reply; check the base URL';
    default:
      return 'The server failed; see its log';
  }
}

function offers(models: readonly string[]): string {
  if (models.length === 0) return '; check the name';
  const shown = models.slice(0, 20).join(', ');
  return `; it offers ${shown}${models.length > 20 ? ` and ${String(models.length - 20)} more` : ''}`;
}

/** Nothing answered at an endpoint: `connect-failed`, or `timeout` with the phase `connect`. */
export function connectFailed(endpoint: Endpoint, cause: unknown): ModelError {
  const code = systemCode(cause);
  if (code === 'ETIMEDOUT' || (cause instanceof Error && cause.name === 'ConnectTimeout')) {
    const text = `No connection to ${placeOf(endpoint)} in time: check the address, or raise timeouts.connectMs.`;
    return new ModelError('timeout', text, { cause, data: { phase: 'connect' } });
  }
  const reason = code === undefined ? '' : ` (${code})`;
  if (code !== undefined && HUNG_UP.includes(code)) {
    const text = `${placeOf(endpoint)} hung up before it answered${reason}: see its log.`;
    return new ModelError('connect-failed', text, { cause, data: { cause: code } });
  }
  if (code !== undefined && UNTRUSTED.test(code)) {
    const text = `The certificate of ${placeOf(endpoint)} is not trusted${reason}: name its authority in NODE_EXTRA_CA_CERTS.`;
    return new ModelError('connect-failed', text, { cause, data: { cause: code } });
  }
  const start = endpoint.preset === undefined ? 'check that it is running' : endpoint.preset.howToStart;
  const text = `Cannot reach ${placeOf(endpoint)}${reason}: ${start}, or set another baseURL.`;
  return new ModelError('connect-failed', text, { cause, ...(code === undefined ? {} : { data: { cause: code } }) });
}

/** Node's name for a network failure, such as `ECONNREFUSED`, wherever in the chain of causes it stands. */
function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return systemCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}

/** Which variable or option holds the key; never the key itself. */
export function howToSetKey({ keyVariable }: Endpoint): string {
  return keyVariable === undefined ? 'set the option apiKey' : `set ${keyVariable} or the option apiKey`;
}

/** An endpoint's address for error texts: without a user name, a password or a query. */
export function placeOf({ baseURL, preset }: Endpoint): string {
  const url = new URL(baseURL);
  const address = `${url.origin}${url.pathname}`;
  return preset === undefined ? address : `${preset.title} at ${address}`;
}

function withoutKey(text: string, { apiKey }: Endpoint): string {
  return apiKey === undefined || apiKey === '' ? text : text.replaceAll(apiKey, '«api key»');
}
