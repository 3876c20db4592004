import { type InputPart, type RunInput, isRunInput } from '../../agent/options/input-parts.ts';
import { type JsonObject, defined, isJsonObject } from '../../json/json.ts';
import type { ApprovalReply } from '../base/answer-approvals.ts';

/** What a client of a chat asks for. */
export type UiAsk =
  | {
      readonly kind: 'run';
      readonly chat: string;
      readonly message: string;
      readonly input: RunInput;
      /** What its input does not say of its parts, for who reads the message later; null: nothing is missing. */
      readonly parts: readonly JsonObject[] | null;
      /** It was sent before, and has no answer. */
      readonly isAgain: boolean;
    }
  | {
      readonly kind: 'answer';
      readonly chat: string;
      readonly replies: readonly ApprovalReply[];
      /** Where the client's message ends, of the run of this id; null where it does not say. */
      readonly at: { readonly runId: string; readonly position: number } | null;
      /** The rest of the run follows. */
      readonly isStreamed: boolean;
    }
  | { readonly kind: 'stop'; readonly chat: string; readonly reason: string }
  | { readonly kind: 'steer'; readonly chat: string; readonly text: string; readonly id: string | undefined }
  | { readonly kind: 'wrong'; readonly message: string };

/**
 * Reads what was posted: the messages of a chat as the AI SDK sends them, of which only the last counts, or one of our own
 * requests, which have an `action`.
 */
export function readAsk(body: unknown): UiAsk {
  if (!isJsonObject(body)) return wrong('The body must be a JSON object.');
  const { id: chat, action } = body;
  if (typeof chat !== 'string' || chat === '') return wrong("'id' must name the chat.");
  if (action !== undefined) return readAction(chat, body);
  const last: unknown = Array.isArray(body.messages) ? body.messages.at(-1) : undefined;
  if (!isJsonObject(last) || !Array.isArray(last.parts))
    return wrong("'messages' must end with a message that has parts.");
  const parts = last.parts.filter(isJsonObject);
  if (last.role === 'assistant') return readAnswers(chat, last, parts, body.edits);
  const input = last.role === 'user' ? inputOf(parts) : 'The last message must be from the user or the assistant.';
  if (typeof input === 'string') return wrong(input);
  const isAgain = body.trigger === 'regenerate-message';
  return { kind: 'run', chat, message: typeof last.id === 'string' ? last.id : '', ...input, isAgain };
}

function readAction(chat: string, { action, text, reason, message, answers }: JsonObject): UiAsk {
  if (action === 'stop') return { kind: 'stop', chat, reason: textOr(reason, 'stopped by the user') };
  if (action === 'steer')
    return typeof text === 'string' && text.trim() !== ''
      ? { kind: 'steer', chat, text, id: typeof message === 'string' && message !== '' ? message : undefined }
      : wrong("'text' must be a text that is not blank.");
  if (action !== 'answer') return wrong("'action' must be 'stop', 'steer' or 'answer'.");
  const replies = (Array.isArray(answers) ? answers : []).map(readReply);
  const whole = replies.filter((reply) => reply !== null);
  if (whole.length === 0 || whole.length < replies.length)
    return wrong("'answers' must be a list of { id, approved, reason?, args?, always? }.");
  return { kind: 'answer', chat, replies: whole, at: null, isStreamed: false };
}

function readReply(answer: unknown): ApprovalReply | null {
  if (!isJsonObject(answer)) return null;
  const { id, approved, reason, args, always } = answer;
  if (typeof id !== 'string' || typeof approved !== 'boolean') return null;
  // The call would run with the arguments that were edited.
  if (args !== undefined && !isJsonObject(args)) return null;
  const why = typeof reason === 'string' ? reason : undefined;
  return { id, approved, ...defined({ reason: why, args, always: always === true ? always : undefined }) };
}

/** `edits`: other arguments, by the ids of the approvals. */
function readAnswers(chat: string, message: JsonObject, parts: readonly JsonObject[], edits: unknown): UiAsk {
  const edited = isJsonObject(edits) ? edits : {};
  if (edits !== undefined && (!isJsonObject(edits) || !Object.values(edits).every(isJsonObject)))
    return wrong("'edits' must hold objects, the arguments by the ids of their approvals.");
  const replies = parts.flatMap(({ state, approval }) => {
    if (state !== 'approval-responded' || !isJsonObject(approval) || approval.isAutomatic === true) return [];
    const args = typeof approval.id === 'string' ? edited[approval.id] : undefined;
    return readReply({ ...approval, ...(args === undefined ? {} : { args }) }) ?? [];
  });
  if (replies.length === 0) return wrong('The last message answers no call that waits. Tools run on the server.');
  // The call would run as it was before a person edited it.
  const asked = new Set(parts.flatMap(({ approval }) => (isJsonObject(approval) ? [approval.id] : [])));
  const other = Object.keys(edited).find((id) => !asked.has(id));
  if (other !== undefined) return wrong(`'edits' names '${other}', which is no approval of the last message.`);
  return { kind: 'answer', chat, replies, at: placeOf(message.metadata), isStreamed: true };
}

function placeOf(metadata: unknown): { readonly runId: string; readonly position: number } | null {
  const { runId, position }: JsonObject = Object(isJsonObject(metadata) && metadata.signalbox);
  return typeof runId === 'string' && typeof position === 'number' ? { runId, position } : null;
}

/** The text, the images and the files of a message; a sentence that says what is not supported. */
function inputOf(given: readonly JsonObject[]): Pick<UiAsk & { readonly kind: 'run' }, 'input' | 'parts'> | string {
  const input: InputPart[] = [];
  const parts: JsonObject[] = [];
  for (const { type, text, mediaType, url, filename } of given) {
    // A file without words comes with an empty text, which Claude's servers refuse.
    if (type === 'text' && typeof text === 'string' && text.trim() !== '') {
      input.push({ type: 'text', text });
      parts.push({ chars: text.length });
    }
    if (type !== 'file') continue;
    const kind = typeof mediaType === 'string' ? mediaType : '';
    if (typeof url !== 'string') return 'A file must have an address.';
    const own = { mediaType: kind, ...(typeof filename === 'string' ? { filename } : {}) };
    const words = kind.startsWith('image/') ? null : textIn(url, kind);
    const named = words === null ? '' : `${textHead(own)}${words}`;
    if (kind.startsWith('image/')) input.push({ type: 'image', url });
    else if (words !== null) input.push({ type: 'text', text: named });
    else input.push({ type: 'file', url, mediaType: kind, filename: own.filename ?? kind });
    parts.push({ chars: named.length, ...own });
    if (!isRunInput(input.slice(-1)))
      return `The file '${own.filename ?? kind}' of the type '${kind}' is not accepted: it needs a type, and an address or data.`;
  }
  const [only] = input;
  if (only === undefined) return 'The message is empty.';
  if (input.length === 1 && only.type === 'text' && parts[0]?.mediaType === undefined)
    return { input: only.text, parts: null };
  return { input, parts: parts.some(({ mediaType }) => mediaType !== undefined) ? parts : null };
}

/** What stands before the text of a file in its run's input. */
export function textHead({ filename, mediaType }: { readonly filename?: string; readonly mediaType: string }): string {
  return `${filename ?? mediaType}:\n`;
}

/** The text of a file that stands in its address. */
function textIn(url: string, mediaType: string): string | null {
  const found = /^data:[^,]*?(;base64)?,/.exec(url);
  if (found === null || !/^(?:text\/|application\/json)/.test(mediaType)) return null;
  try {
    const data = url.slice(found[0].length);
    if (found[1] === undefined) return decodeURIComponent(data);
    return new TextDecoder().decode(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)));
  } catch {
    return null;
  }
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value.trim() !== '' ? value : otherwise;
}

function wrong(message: string): UiAsk {
  return { kind: 'wrong', message };
}
