import { ModelError, type ModelErrorCode } from '../../actors/model.ts';
import { readRetryAfter, memberOf } from '../../actors/retry-after.ts';
import { isJsonObject, parsedText } from '../../json/json.ts';
import { codeOf, readServerError, type ServerError } from '../chat/failure.ts';
import { StreamFailure } from './part-reader.ts';

/** The SDK's own errors, by their names, which are the same in all of its versions. */
const CODES: { readonly [name: string]: ModelErrorCode } = {
  AI_LoadAPIKeyError: 'auth',
  AI_NoSuchModelError: 'model-not-found',
  AI_LoadSettingError: 'bad-request',
  AI_InvalidArgumentError: 'bad-request',
  AI_InvalidPromptError: 'bad-request',
  AI_UnsupportedFunctionalityError: 'bad-request',
  AI_EmptyResponseBodyError: 'bad-response',
  AI_InvalidResponseDataError: 'bad-response',
  AI_JSONParseError: 'bad-response',
  AI_NoContentGeneratedError: 'bad-response',
  AI_TypeValidationError: 'bad-response',
};

/** Turns what a provider of the AI SDK threw, or reported in its stream, into a {@link ModelError}. */
export function sdkFailure(thrown: unknown, model: string): ModelError {
  if (thrown instanceof ModelError) return thrown;
  const error: unknown = thrown instanceof StreamFailure ? thrown.cause : thrown;
  const status = statusOf(error);
  const server = serverErrorOf(error);
  const code =
    status === undefined && !isReported(thrown)
      ? codeOfError(error, thrown)
      : codeOfStatus(status ?? 200, server, error);
  const said = server.message === '' ? messageOf(error) : server.message;
  const place = status === undefined || status === 200 ? `'${model}'` : `'${model}', HTTP ${String(status)}`;
  return new ModelError(code, `${LEAD[code] ?? 'The request failed'} (${place})${said === '' ? '.' : `: ${said}`}`, {
    status,
    retryAfterMs: readRetryAfter(headersOf(error), Date.now()),
    cause: thrown,
    ...(code === 'malformed-tool-call' ? { data: { text: server.failedGeneration ?? '', message: said } } : {}),
  });
}

const LEAD: { readonly [code in ModelErrorCode]?: string } = {
  auth: "The API key was not accepted; check the provider's apiKey",
  'connect-failed': 'The server cannot be reached',
  'rate-limited': 'The server refused the request because too much was asked of it',
  'quota-exhausted': 'The account has nothing left to spend',
  'context-overflow': "The conversation is longer than the model's context",
  'content-filter': 'A content filter did not let the request through',
  'bad-response': 'The server answered with something that cannot be read',
  'server-error': 'The server failed',
};

/** An error that the server reported in its stream came with HTTP 200. */
function isReported(thrown: unknown): boolean {
  return thrown instanceof StreamFailure && !(thrown.cause instanceof Error);
}

function codeOfStatus(status: number, server: ServerError, error: unknown): ModelErrorCode {
  // A reply of a good status that its provider could not read.
  if (status < 300 && error instanceof Error && memberOf(bodyOf(error), 'error') === undefined) return 'bad-response';
  if (hasReason(error, 'API_KEY_INVALID')) return 'auth';
  const code = codeOf(status, server);
  if (code !== 'bad-request') return code;
  if (server.param === 'tools') return 'no-native-tools';
  if (status === 408) return 'timeout';
  return memberOf(error, 'isRetryable') === true ? 'server-error' : code;
}

/** The code of an error that came without a status: the SDK's own, or of the network. */
function codeOfError(error: unknown, thrown: unknown): ModelErrorCode {
  // What `fetch` throws when a reply breaks off.
  if (thrown instanceof StreamFailure && error instanceof TypeError) return 'bad-response';
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at.name === 'AI_UnsupportedFunctionalityError' && /^tools?\b/i.test(textOf(memberOf(at, 'functionality'))))
      return 'no-native-tools';
    const known = CODES[at.name];
    if (known !== undefined) return known;
    if (at.name === 'TimeoutError') return 'timeout';
    if (at.name === 'AI_APICallError') return 'connect-failed';
  }
  return 'model-error';
}

function statusOf(error: unknown): number | undefined {
  const status = memberOf(error, 'statusCode');
  return typeof status === 'number' ? status : undefined;
}

/** The server's error: the body of a response, or the event of a stream. */
function serverErrorOf(error: unknown): ServerError {
  const body = memberOf(error, 'responseBody');
  if (typeof body === 'string') return readServerError(parsedText(body) ?? body);
  if (typeof error === 'string') return readServerError(error);
  if (error instanceof Error || !isJsonObject(error)) return readServerError('');
  const { data, response } = error;
  const inResponse = isJsonObject(response) ? response['error'] : undefined;
  const read = readServerError(isJsonObject(data) && 'error' in data ? data : (inResponse ?? error));
  return { ...read, code: read.code ?? (textOf(error['code']) || undefined), type: textOf(error['type']) || read.type };
}

/** Google reports a wrong key in the details of a 400. */
function hasReason(error: unknown, reason: string): boolean {
  const details = memberOf(memberOf(bodyOf(error), 'error'), 'details');
  return Array.isArray(details) && details.some((detail) => memberOf(detail, 'reason') === reason);
}

function bodyOf(error: unknown): unknown {
  const body = memberOf(error, 'responseBody');
  return typeof body === 'string' ? parsedText(body) : undefined;
}

function headersOf(error: unknown) {
  const headers = memberOf(error, 'responseHeaders');
  return { get: (name: string) => textOf(memberOf(headers, name)) || null };
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return textOf(memberOf(error, 'message'));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
