import { isList } from '../json/depth.ts';
import { type Json, type JsonObject, isJsonObject } from '../json/json.ts';

/** The result of a tool call. A bare value that a tool returns becomes the `data` of a success. */
export interface ToolResult {
  readonly status: 'success' | 'error' | 'partial';
  readonly message?: string;
  readonly data?: Json;
  /** What the model should do next. */
  readonly instruction?: string;
  readonly error?: string;
  readonly suggestion?: string;
  readonly [extra: string]: Json | undefined;
}

const STATUSES: ReadonlySet<unknown> = new Set(['success', 'error', 'partial']);

/** The one predicate of what an error is: status `error`, a bare `{ error }`, or MCP's `isError`. */
export function isErrorResult(value: Json | ToolResult): boolean {
  if (!isJsonObject(value)) return false;
  if (value.status === 'error' || value.isError === true) return true;
  const { status, error } = value;
  if (status !== undefined) return false;
  if (typeof error === 'string') return error !== '';
  // Of an object with more members, only what is made like an error is one.
  const isBare = Object.keys(value).length === 1;
  return isJsonObject(error) && (typeof error.message === 'string' || (isBare && Object.keys(error).length > 0));
}

/** Brings whatever a tool returned into the result format. Never throws. */
export function toToolResult(value: Json): ToolResult {
  if (!isJsonObject(value)) return { status: 'success', data: value };
  if (isErrorResult(value)) return { ...value, status: 'error', error: errorText(value) };
  return isToolResult(value) ? value : { status: 'success', data: value };
}

function isToolResult(value: JsonObject): value is JsonObject & ToolResult {
  return STATUSES.has(value.status);
}

function errorText({ error, message, content }: JsonObject): string {
  if (typeof error === 'string') return error;
  if (isJsonObject(error) && typeof error.message === 'string') {
    const { message: said, code } = error;
    return typeof code === 'string' || typeof code === 'number' ? `${said} (${code})` : said;
  }
  if (error !== undefined && error !== null) return JSON.stringify(error);
  if (typeof message === 'string') return message;
  const parts = (isList(content) ? content : []).flatMap((part) => (isJsonObject(part) ? (part.text ?? []) : []));
  const text = parts.filter((part) => typeof part === 'string').join('\n');
  return text === '' ? 'the tool reported an error without a message' : text;
}

/** Cuts a long text in its middle, so that head and tail stay, and says how much is missing. */
export function cutMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const head = Math.ceil(maxChars * 0.7);
  const tail = maxChars - head;
  const left = text.length - head - tail;
  const end = tail === 0 ? '' : text.slice(-tail);
  return `${text.slice(0, head)}\n… [${left} characters cut out here] …\n${end}`;
}

/** The kinds that models take; others are only named. */
const IMAGE_TYPES: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
/** The longest base64 of an image that is sent: larger ones are refused by most providers. */
const LONGEST_IMAGE = 5_000_000;
const MOST_IMAGES = 10;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * A result as a model may read it as text: what is base64 in its parts is a placeholder with type and size, and what is
 * for the user alone (`forUser`) is left out. `sent`: the placeholders say that the images follow.
 */
export function withoutMedia(result: ToolResult, images: 'sent' | 'named'): ToolResult {
  const { forUser: _forUser, ...rest } = result;
  let left = images === 'sent' ? MOST_IMAGES : 0;
  const replaced = (value: Json): Json => {
    const media = mediaOf(value);
    if (media === null || !isJsonObject(value)) return value;
    const isSent = left > 0 && isSendable(media);
    if (isSent) left -= 1;
    const { data: _data, blob: _blob, text: _text, ...named } = value;
    return { ...named, size: sizeText(media.base64), note: isSent ? 'follows as an image' : 'not shown to you' };
  };
  const shown: { [key: string]: Json | undefined } = { ...rest };
  for (const key of ['data', 'parts']) {
    const value = result[key];
    if (value !== undefined) shown[key] = isList(value) ? value.map(replaced) : replaced(value);
  }
  return { ...shown, status: result.status };
}

/** The images of a result that a model takes, as `data:` addresses in their order, as {@link withoutMedia} announces them with `sent`. */
export function imagesOf(result: ToolResult): readonly { readonly type: 'image'; readonly url: string }[] {
  return ['data', 'parts']
    .flatMap((key) => result[key] ?? [])
    .flatMap((value) => mediaOf(value) ?? [])
    .filter(isSendable)
    .slice(0, MOST_IMAGES)
    .map(({ mimeType, base64 }) => ({ type: 'image', url: `data:${mimeType};base64,${base64}` }));
}

interface Media {
  readonly mimeType: string;
  readonly base64: string;
}

/** What stands as base64 in a part of the forms that MCP has; null for all others. */
function mediaOf(part: Json): Media | null {
  if (!isJsonObject(part)) return null;
  const { type, mimeType, data, blob } = part;
  const base64 = type === 'resource' ? blob : type === 'image' || type === 'audio' ? data : null;
  return typeof base64 === 'string' ? { mimeType: typeof mimeType === 'string' ? mimeType : '', base64 } : null;
}

function isSendable({ mimeType, base64 }: Media): boolean {
  return IMAGE_TYPES.has(mimeType) && base64.length <= LONGEST_IMAGE && BASE64.test(base64);
}

function sizeText(base64: string): string {
  const bytes = Math.floor((base64.replace(/={1,2}$/, '').length * 3) / 4);
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
