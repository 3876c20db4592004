import { wrongOption } from '../../json/known-options.ts';
import type { Message, Part } from '../../actors/model.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import type { SentMessage } from '../../machines/contract/mail.ts';
import type { AgentSetup } from '../../machines/contract/agent-setup.ts';
import { isInUserMessage } from '../../machines/llm-call/conversation.ts';

/**
 * A piece of an input: text, or an image or another file by its address or its data. `url`: an address that the model's
 * server can read, or a `data:` address. `data`: the bytes, or base64. `mediaType`: such as `image/png` or `application/pdf`.
 */
export type InputPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string }
  | { readonly type: 'image'; readonly data: string | Uint8Array; readonly mediaType: string }
  | { readonly type: 'file'; readonly url: string; readonly mediaType: string; readonly filename?: string }
  | {
      readonly type: 'file';
      readonly data: string | Uint8Array;
      readonly mediaType: string;
      readonly filename?: string;
    };

/** What a run is asked: text, or text, images and files in their order. */
export type RunInput = string | readonly InputPart[];

/** An input as a run takes it. */
export interface ReadInput {
  /** All of its text. */
  readonly task: string;
  /** Its parts, if not all of them are text. */
  readonly content: readonly Part[] | null;
}

/** Reads an input. Throws a `TypeError` that says which part is wrong, and for one without any text, image or file. */
export function readInput(input: unknown, what = 'agent.run'): ReadInput {
  if (typeof input === 'string') {
    if (input.trim() === '') throw wrongOption(`${what}: the input must be a text that is not blank.`);
    return { task: input, content: null };
  }
  if (!Array.isArray(input))
    throw wrongOption(`${what}: the input must be a text that is not blank, or a list of text, images and files.`);
  const parts = input.map((part, index) => readPart(part, `${what}: part ${index} of the input`));
  const media = parts.filter(({ type }) => type !== 'text');
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  if (media.length === 0 && text.trim() === '')
    throw wrongOption(`${what}: the input has neither text nor an image or a file.`);
  const named = text.trim() === '' ? `[${namesOf(media)}]` : text;
  return media.length === 0 ? { task: text, content: null } : { task: named, content: parts };
}

/** An input as a message to a live run. */
export function steered(input: RunInput): string {
  const { task, content } = readInput(input);
  if (content === null) return task;
  throw wrongOption("agent.run: images and files cannot be sent to a live run. Use whenBusy: 'queue'.");
}

/** An input as a message for a later run. */
export function messageOf(id: string, input: RunInput, metadata?: JsonObject): SentMessage {
  const { task: text, content } = readInput(input);
  return { id, text, ...(content && { content }), ...(metadata && { metadata }) };
}

/** The input of the run that a message becomes, and its options: what it inherits, and the message's metadata. */
export function runOf<T>({ text, content, metadata }: SentMessage, inherited: T) {
  return [content ?? text, { ...inherited, ...(metadata && { metadata }) }] as const;
}

/** True for what {@link readInput} reads. */
export function isRunInput(input: unknown): boolean {
  try {
    readInput(input);
    return true;
  } catch {
    return false;
  }
}

/** What an input without text is called. */
function namesOf(media: readonly Part[]): string {
  const images = media.filter(({ type }) => type === 'image').length;
  const files = media.flatMap((part) => (part.type === 'file' ? [part.filename ?? part.mediaType] : []));
  return [...(images === 0 ? [] : [`${images} image(s)`]), ...files].join(', ');
}

function readPart(part: unknown, which: string): Part {
  const wrong = (problem: string): TypeError => wrongOption(`${which} ${problem}.`);
  if (!isJsonObject(part)) throw wrong('must be an object with a type');
  const { type, text, url, data, mediaType, filename }: { readonly [name: string]: unknown } = part;
  if (type === 'text') {
    if (typeof text !== 'string') throw wrong("is of type 'text' and must have a text");
    return { type: 'text', text };
  }
  if (type !== 'image' && type !== 'file')
    throw wrong(`must be of type 'text', 'image' or 'file', and is of ${JSON.stringify(type)}`);
  if (type === 'image' && typeof url === 'string') {
    if (!isAddress(url, 'data:image/'))
      throw wrong('needs a valid address that begins with https:, http: or data:image/');
    return { type, url };
  }
  if (typeof mediaType !== 'string' || !(type === 'image' ? IMAGE_TYPE : MEDIA_TYPE).test(mediaType))
    throw wrong(`needs a mediaType, such as '${type === 'image' ? 'image/png' : 'application/pdf'}'`);
  if (type === 'image') return { type, url: dataAddress(data, mediaType, wrong) };
  if (filename !== undefined && typeof filename !== 'string') throw wrong('has a filename that is not text');
  if (typeof url === 'string' && !isAddress(url, 'data:'))
    throw wrong('needs a valid address that begins with https:, http: or data:');
  const address = typeof url === 'string' ? url : dataAddress(data, mediaType, wrong);
  return { type, url: address, mediaType, ...(filename === undefined ? {} : { filename }) };
}

function isAddress(url: string, data: string): boolean {
  return /^https?:/.test(url) ? URL.canParse(url) : url.startsWith(data);
}

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+$/;
const IMAGE_TYPE = /^image\/[\w.+-]+$/;

function dataAddress(data: unknown, mediaType: string, wrong: (problem: string) => TypeError): string {
  const base64 = data instanceof Uint8Array ? toBase64(data) : data;
  if (typeof base64 !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    throw wrong('needs a url, or its data as bytes or base64');
  return `data:${mediaType};base64,${base64}`;
}

const CHUNK = 0x8000;

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}

const NOT_TAKEN = { images: 'images-not-taken', files: 'files-not-taken' } as const;

/** Why a run whose messages hold images or files cannot begin with a model that accepts none; null if it can. */
export function mediaRefused(
  messages: readonly Message[],
  { settings }: AgentSetup,
  model: string | undefined,
): { readonly code: string; readonly message: string } | null {
  const name = model === undefined ? 'the model' : `the model '${model}'`;
  const refused = (kind: 'images' | 'files') => ({
    code: NOT_TAKEN[kind],
    message: `${name} takes no ${kind}, so nothing was sent. Use one that does (chatModel({ ${kind}: true })), or leave them out`,
  });
  if (settings.files !== 'sent' && isInUserMessage('file', messages)) return refused('files');
  return settings.images !== 'sent' && isInUserMessage('image', messages) ? refused('images') : null;
}
