import { isJsonObject, type Json } from '../../json/json.ts';

/** What a server said of a failure, in the fields that servers agree on. Only `message` is for people. */
export interface ServerError {
  readonly message: string;
  readonly code: string | undefined;
  /** Azure's second, narrower code. */
  readonly innerCode: string | undefined;
  readonly type: string | undefined;
  /** The request's field that is to blame. */
  readonly param: string | undefined;
  readonly status: number | undefined;
  /** The text that a server could not read as a tool call (Groq's `failed_generation`). */
  readonly failedGeneration: string | undefined;
}

const MAX_MESSAGE = 600;

/** Reads an error body in any of the forms in use: OpenAI's, Ollama's, vLLM's, FastAPI's, Gemini's list, plain text. */
export function readServerError(body: unknown): ServerError {
  const outer = Array.isArray(body) ? body[0] : body;
  const inner: unknown = isJsonObject(outer) && 'error' in outer ? outer['error'] : outer;
  if (!isJsonObject(inner)) return emptyError(typeof inner === 'string' ? inner : '');
  const code = inner['code'];
  return {
    message: shortened(messageOf(inner)),
    code: typeof code === 'string' ? code : undefined,
    innerCode: innerCodeOf(inner['innererror'] ?? inner['inner_error']),
    type: textOf(inner['type']),
    param: textOf(inner['param']) ?? fieldOfDetail(inner['detail']),
    status: typeof code === 'number' ? code : undefined,
    failedGeneration: textOf(inner['failed_generation']),
  };
}

/** The request's top-level field that the error names, such as `stream_options` for `stream_options.include_usage`. */
export function blamedField(error: ServerError): string | undefined {
  return error.param?.split(/[.[]/, 1)[0];
}

function emptyError(message: string): ServerError {
  const nothing = { code: undefined, innerCode: undefined, type: undefined, param: undefined, status: undefined };
  return { message: shortened(message), ...nothing, failedGeneration: undefined };
}

function messageOf(error: { readonly [key: string]: Json }): string {
  const said = error['message'] ?? error['detail'] ?? error['error'];
  if (typeof said === 'string') return said;
  return said === undefined || said === null ? '' : JSON.stringify(said);
}

/** FastAPI's form: `detail: [{ loc: ['body', 'stream_options'], … }]`. */
function fieldOfDetail(detail: unknown): string | undefined {
  const first: unknown = Array.isArray(detail) ? detail[0] : undefined;
  const place = isJsonObject(first) ? first['loc'] : undefined;
  return Array.isArray(place) && place[0] === 'body' ? textOf(place[1]) : undefined;
}

function innerCodeOf(value: unknown): string | undefined {
  return isJsonObject(value) ? textOf(value['code']) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function shortened(text: string): string {
  // An HTML page is what a proxy shows to people in a browser.
  const line = text.trimStart().startsWith('<') ? '' : text.trim();
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line;
}
