import type { ModelErrorCode } from '../../actors/model.ts';
import type { EndpointMemory } from '../endpoint/endpoint-memory.ts';
import type { EncodedRequest } from './encode-request.ts';
import { codeOf, statusOf, type Refusal } from './failure.ts';
import { blamedField, readServerError, type ServerError } from './server-error.ts';

/** What to do after a refusal. */
export type Lesson =
  /** Ask again without this field. `isSure: false`: the server did not say why; only a success proves it. */
  | { readonly kind: 'leave-out'; readonly field: string; readonly isSure: boolean }
  /** The server takes no tools, or `isSure: false`: tools are the likeliest reason. */
  | { readonly kind: 'no-tools'; readonly isSure: boolean }
  | { readonly kind: 'failed' };

const REFUSALS = [400, 404, 422, 501];
const TOOL_FIELDS = ['tools', 'tool_choice', 'functions'];
const TOOL_CODES = /^(?:unsupported_tools?|tools?(?:_use|_calls?|_calling)?_(?:not_supported|unsupported))$/;

/** Fields of our own making that a server may refuse without naming them, the likeliest first. */
const SUSPECTS = ['response_format', 'stream_options'];

/** Reads out of a refusal, by structured fields alone, what the server cannot do. */
export function learnFromRefusal(refusal: Refusal, sent: EncodedRequest, memory: EndpointMemory): Lesson {
  const error = readServerError(refusal.body);
  const status = statusOf(refusal, error);
  const field = blamedField(error);
  const code = codeOf(status, error);

  if (REFUSALS.includes(status)) {
    if (sent.withTools && namesTools(error, field)) return { kind: 'no-tools', isSure: true };
    if (field !== undefined && sent.optional.includes(field)) return { kind: 'leave-out', field, isSure: true };
  }
  if (!isUnexplained(refusal, error, status, code)) return { kind: 'failed' };
  if (sent.withTools) return memory.tools === 'works' ? { kind: 'failed' } : { kind: 'no-tools', isSure: false };
  const suspect = SUSPECTS.find((name) => sent.optional.includes(name));
  return suspect === undefined ? { kind: 'failed' } : { kind: 'leave-out', field: suspect, isSure: false };
}

function namesTools(error: ServerError, field: string | undefined): boolean {
  if ([error.code, error.type].some((name) => name !== undefined && TOOL_CODES.test(name))) return true;
  if (field === undefined || !TOOL_FIELDS.includes(field)) return false;
  // `tools[0].function.parameters` is a schema that the server dislikes, unless it says that it knows no tools.
  return error.param === field || (error.code?.startsWith('unsupported') ?? false);
}

/**
 * A refusal that names neither field nor reason, as Ollama's of tools. A 500 only counts from llama.cpp, which uses it
 * for tools that its template cannot take; from others it is an outage.
 */
function isUnexplained(refusal: Refusal, error: ServerError, status: number, code: ModelErrorCode): boolean {
  if (error.param !== undefined) return false;
  if (status === 500) return code === 'server-error' && refusal.headers?.get('server') === 'llama.cpp';
  return (code === 'bad-request' && status !== 413 && REFUSALS.includes(status)) || status === 501;
}
