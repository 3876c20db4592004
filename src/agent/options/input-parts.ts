import type { Part } from '../../actors/model.ts';
import { isJsonObject } from '../../json/json.ts';
import type { AgentSetup } from '../../machines/contract/agent-setup.ts';

/** A piece of an input: text, or an image by its address or its data. */
export type InputPart =
  | { readonly type: 'text'; readonly text: string }
  /** `url`: an address that the model's server can read, or a `data:` address. */
  | { readonly type: 'image'; readonly url: string }
  /** `data`: the bytes, or base64. `mediaType`: such as `image/png`. */
  | { readonly type: 'image'; readonly data: string | Uint8Array; readonly mediaType: string };

/** What a run is asked: text, or text and images in their order. */
export type RunInput = string | readonly InputPart[];

/** An input as a run takes it. */
export interface ReadInput {
  /** All of its text. */
  readonly task: string;
  /** Its parts, where there are others than text. */
  readonly content: readonly Part[] | null;
}

/** Reads an input. Throws a `TypeError` that says which part is wrong, and for one without any text or image. */
export function readInput(input: unknown): ReadInput {
  if (typeof input === 'string') {
    if (input.trim() === '') throw new TypeError('agent.run: the input must be a text that is not blank.');
    return { task: input, content: null };
  }
  if (!Array.isArray(input))
    throw new TypeError('agent.run: the input must be a text that is not blank, or a list of text and images.');
  const parts = input.map((part, index) => readPart(part, index));
  const images = parts.filter(({ type }) => type === 'image').length;
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  if (images === 0 && text.trim() === '') throw new TypeError('agent.run: the input has neither text nor an image.');
  const named = text.trim() === '' ? `[${images} image(s)]` : text;
  return images === 0 ? { task: text, content: null } : { task: named, content: parts };
}

function readPart(part: unknown, index: number): Part {
  const wrong = (problem: string): TypeError => new TypeError(`agent.run: part ${index} of the input ${problem}.`);
  if (!isJsonObject(part)) throw wrong('must be an object with a type');
  const { type, text, url, data, mediaType }: { readonly [name: string]: unknown } = part;
  if (type === 'text') {
    if (typeof text !== 'string') throw wrong("is of type 'text' and must have a text");
    return { type: 'text', text };
  }
  if (type !== 'image') throw wrong(`must be of type 'text' or 'image', and is of ${JSON.stringify(type)}`);
  if (typeof url === 'string') {
    if (!/^(?:https?:|data:image\/)/.test(url))
      throw wrong('needs an address that begins with https:, http: or data:image/');
    return { type: 'image', url };
  }
  if (typeof mediaType !== 'string' || !/^image\/[\w.+-]+$/.test(mediaType))
    throw wrong("needs a mediaType beside its data, such as 'image/png'");
  const base64 = data instanceof Uint8Array ? toBase64(data) : data;
  if (typeof base64 !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    throw wrong('needs a url, or its data as bytes or base64');
  return { type: 'image', url: `data:${mediaType};base64,${base64}` };
}

const CHUNK = 0x8000;

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}

/** Why a run with images cannot begin with a model that takes none; null where it can. */
export function imagesRefused(
  content: ReadInput['content'],
  { settings }: AgentSetup,
  model: string | undefined,
): { readonly code: string; readonly message: string } | null {
  if (content === null || settings.images === 'sent') return null;
  const name = model === undefined ? 'the model' : `the model '${model}'`;
  return {
    code: 'images-not-taken',
    message: `${name} takes no images, so nothing was sent. Use one that does (chatModel({ images: true })), or leave them out`,
  };
}
