import {
  ModelError,
  type Model,
  type ModelIo,
  type ModelReply,
  type ModelRequest,
  type ModelErrorCode,
} from '../../actors/model.ts';
import { isJsonObject, parsedText, memberOf } from '../../json/json.ts';
import { OptionError, optionsOf, wrongOption } from '../../json/known-options.ts';
import { withOwnNames } from '../chat/ask-model.ts';
import { processEnvironment } from '../endpoint/environment.ts';
import { refuseIfBanned } from '../endpoint/live-guard.ts';
import { untilAborted } from '../http/fetch.ts';
import { encodeCall } from './encode-call.ts';
import type { AiSdkCall, AiSdkLanguageModel, AiSdkSettings, AiSdkStream } from './language-model.ts';
import { PartReader, StreamFailure, textOf } from './part-reader.ts';
import { readRetryAfter } from '../../actors/retry-after.ts';
import { codeOf, isTooManyTools, readServerError, type ServerError } from '../chat/failure.ts';

/** Options of `fromAiSdk`. */
export interface AiSdkOptions {
  /** Whether the model accepts images: those in tool results are then sent to it. Default false: it gets their type and size. */
  readonly images?: boolean | undefined;
  /** Whether the model accepts files in a user's message, such as PDF. Default false. */
  readonly files?: boolean | undefined;
  /** How many tokens the model's context holds. Default: not known. */
  readonly contextSize?: number | undefined;
  /** Added to every call unchanged: `seed`, `topP`, `reasoning`, `headers`, `providerOptions` … */
  readonly settings?: AiSdkSettings | undefined;
}

const checkOptions = optionsOf<AiSdkOptions>('fromAiSdk', 'docs/models.md', {
  images: true,
  files: true,
  contextSize: true,
  settings: true,
});

/**
 * A model of the AI SDK as a model of Signalbox. The provider sends each request once: retries, time limits and the
 * running of tools are the agent's. Throws an `OptionError` for what is not a model of specification v3 or v4.
 *
 * @example
 * const model = fromAiSdk(anthropic('claude-sonnet-4-5'), { images: true });
 * createAgent({ model, tools });
 */
export function fromAiSdk(languageModel: AiSdkLanguageModel, options: AiSdkOptions = {}): Model {
  checkOptions(options);
  checkModel(languageModel);
  const { images = false, files = false, settings = {}, contextSize } = options;
  const id = `${languageModel.provider}:${languageModel.modelId}`;
  const version = languageModel.specificationVersion;
  const target = { id, strictOrder: MISTRAL.test(id), callsNeedTools: CLAUDE.test(id), version, settings };
  const told = new Set<string>();
  let takesSchema = true;

  const ask = async (request: ModelRequest, io: ModelIo): Promise<ModelReply> => {
    const call = encodeCall(request, target, io.signal);
    const reader = new PartReader(io.onToken);
    try {
      if (request.stream) await readStream(languageModel, call, reader, io.signal);
      else reader.addResult(await untilAborted(io.signal, Promise.resolve(languageModel.doGenerate(call))));
      return reader.reply(id);
    } catch (error) {
      if (io.signal.aborted) throw new ModelError('aborted', `The request to '${id}' was aborted.`, { cause: error });
      throw sdkFailure(error, id);
    }
  };

  /** A model that refuses a request with a schema of the reply is asked without one, from then on if that helped. */
  const askAsTaken = async (request: ModelRequest, io: ModelIo): Promise<ModelReply> => {
    const { responseSchema, ...plain } = request;
    if (!takesSchema) return ask(plain, io);
    try {
      return await ask(request, io);
    } catch (error) {
      const isRefused = error instanceof ModelError && error.code === 'bad-request';
      if (!isRefused || responseSchema === undefined || request.strictSchema !== true) throw error;
      const reply = await ask(plain, io);
      takesSchema = false;
      return reply;
    }
  };

  return {
    id,
    takesImages: images,
    takesFiles: files,
    ...(contextSize === undefined ? {} : { contextSize }),
    // Others turn the schema into a tool, or refuse it beside tools.
    takesSchemaWithTools: languageModel.provider.startsWith('openai.'),
    async complete(request, io) {
      if (io.signal.aborted) throw new ModelError('aborted', 'The request was aborted before it was sent.');
      refuseIfBanned(() => id, processEnvironment());
      const { warnings = [], ...reply } = withOwnNames(await askAsTaken(request, io), request);
      // A provider repeats its warnings with every call.
      const fresh = warnings.filter((warning) => !told.has(warning));
      for (const warning of fresh) told.add(warning);
      return fresh.length === 0 ? reply : { ...reply, warnings: fresh };
    },
  };
}

async function readStream(
  model: AiSdkLanguageModel,
  call: AiSdkCall,
  reader: PartReader,
  signal: AbortSignal,
): Promise<void> {
  const { stream } = await untilAborted(signal, Promise.resolve(model.doStream(call)));
  const parts = stream.getReader();
  const stop = (): void => cancel(parts);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (;;) {
      const { done, value } = await Promise.resolve(parts.read()).catch(brokeOff);
      signal.throwIfAborted();
      if (done) return;
      reader.add(value);
    }
  } catch (error) {
    stop();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Mistral's models, whoever serves them: their servers and chat templates refuse any other order of messages. */
const MISTRAL = /(?:mi[sx]|minis|magis|devs)tral|codestral|pixtral/i;

/** Anthropic's models and all of Amazon's servers refuse a call in the conversation where no tool is offered. */
const CLAUDE = /claude|amazon/i;

/** What `fetch` throws when a reply breaks off, as the failure of a stream; all else as it is. */
function brokeOff(error: unknown): never {
  throw error instanceof TypeError ? new StreamFailure('The stream broke off.', { cause: error }) : error;
}

/** Not awaited: a stream with a second reader settles this when that one is done. */
function cancel(parts: ReturnType<AiSdkStream['getReader']>): void {
  void Promise.resolve(parts.cancel()).catch(() => undefined);
}

function checkModel(model: unknown): void {
  if (typeof model === 'string')
    throw wrong(`'${model}' is a name. Give it the model itself, as a provider package makes it: openai('${model}').`);
  if (!isJsonObject(model) || !('doGenerate' in model) || !('doStream' in model))
    throw wrong('it takes a language model of the AI SDK, with doGenerate and doStream.');
  const version: unknown = model['specificationVersion'];
  if (version !== 'v3' && version !== 'v4')
    throw wrong(
      `the model is of specification '${String(version)}'; v3 and v4 are understood. Update its provider package.`,
    );
}

function wrong(text: string): OptionError {
  return wrongOption(`fromAiSdk: ${text} See docs/models.md.`);
}

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
function sdkFailure(thrown: unknown, model: string): ModelError {
  if (thrown instanceof ModelError) return thrown;
  const outer: unknown = thrown instanceof StreamFailure ? thrown.cause : thrown;
  // Some providers wrap what the client of their server threw.
  const inner = memberOf(outer, 'cause');
  const error = statusOf(outer) === undefined && statusOf(inner) !== undefined ? inner : outer;
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
    retryAfterMs: readRetryAfter(headersOf(error), Date.now()) ?? server.retryAfterMs,
    cause: thrown,
    ...(code === 'malformed-tool-call' ? { data: { text: server.failedGeneration ?? '', message: said } } : {}),
  });
}

const LEAD: { readonly [code in ModelErrorCode]?: string } = {
  auth: "The API key was not accepted; check the provider's apiKey",
  'connect-failed': 'The server cannot be reached',
  'rate-limited': 'The server refused the request because its rate limit was reached',
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
  const code = codeOf(status, server);
  if (code !== 'bad-request') return code;
  if (server.param === 'tools' && !isTooManyTools(server)) return 'no-native-tools';
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
    // `fetch` names the system's error as its cause.
    const isOff = at instanceof TypeError && textOf(memberOf(at.cause, 'code')) !== '';
    if (isOff || at.name === 'AI_APICallError') return 'connect-failed';
  }
  return 'model-error';
}

function statusOf(error: unknown): number | undefined {
  const status = memberOf(error, 'statusCode') ?? memberOf(error, 'status_code');
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
