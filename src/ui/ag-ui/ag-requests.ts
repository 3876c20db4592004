import { type InputPart, type RunInput, isRunInput } from '../../agent/options/input-parts.ts';
import { type JsonObject, defined, isJsonObject } from '../../json/json.ts';
import { type ApprovalReply, askedCall } from '../base/answer-approvals.ts';
import { resultId } from './ag-ui-fold.ts';

/** The part of an AG-UI client's request that is used. */
export interface AgInput {
  readonly threadId: string;
  readonly runId: string;
  readonly messages: readonly JsonObject[];
  readonly resume: readonly JsonObject[];
  /** The client has more messages than those: results of calls that it answers now, which it has made up. */
  readonly hasMadeUp: boolean;
  readonly state: object;
  /** Clients name the version of the protocol since 1.0. */
  readonly isOld: boolean;
}

/** Reads what was posted; null where it is no `RunAgentInput`. */
export function readAgInput(body: unknown): AgInput | null {
  if (!isJsonObject(body)) return null;
  const { threadId, runId, messages, resume = [], state, protocolVersion } = body;
  if (typeof threadId !== 'string' || threadId === '' || typeof runId !== 'string' || runId === '') return null;
  if (!Array.isArray(messages) || !Array.isArray(resume) || !resume.every(isJsonObject)) return null;
  const isOld = typeof protocolVersion !== 'string';
  const known = isJsonObject(state) ? state : {};
  const all = messages.filter(isJsonObject);
  const calls = new Set(
    resume.flatMap(({ interruptId }) => (typeof interruptId === 'string' ? [askedCall(interruptId)] : [])),
  );
  const kept = all.filter((one) => !isMadeUp(one, calls));
  return { threadId, runId, messages: kept, resume, hasMadeUp: kept.length < all.length, state: known, isOld };
}

/** CopilotKit sends a result of each call that it answers, which it shows in place of what the call then gives. */
function isMadeUp({ id, toolCallId }: JsonObject, calls: ReadonlySet<string>): boolean {
  return typeof toolCallId === 'string' && id !== resultId(toolCallId) && calls.has(toolCallId);
}

/** A person's answer to an interrupt, or why it cannot be used: the call would run as it was before a person edited it. */
export function replyToInterrupt({ interruptId, status, payload }: JsonObject): ApprovalReply | string {
  const id = typeof interruptId === 'string' ? interruptId : '';
  const { approved, reason, editedArgs, answer, always }: JsonObject = isJsonObject(payload) ? payload : {};
  if (editedArgs != null && !isJsonObject(editedArgs)) return "'editedArgs' must be an object.";
  if (answer != null && typeof answer !== 'string') return "'answer' must be a text.";
  const args = typeof answer === 'string' ? { answer } : (editedArgs ?? undefined);
  return {
    id,
    approved: status === 'resolved' && approved === true,
    ...defined({ reason: typeof reason === 'string' ? reason : undefined, args }),
    ...(always === true ? { always } : {}),
  };
}

/** The content of a user's message; null if it has none that can be used. */
export function inputInMessage(message: JsonObject | undefined): RunInput | null {
  if (message?.role !== 'user') return null;
  const { content } = message;
  if (typeof content === 'string') return content.trim() === '' ? null : content;
  if (!Array.isArray(content)) return null;
  const parts: InputPart[] = [];
  for (const part of content) {
    // Claude's servers refuse an empty text.
    if (isJsonObject(part) && part.type === 'text' && typeof part.text === 'string' && part.text.trim() === '')
      continue;
    const read = isJsonObject(part) ? partOf(part) : null;
    if (read === null) return null;
    parts.push(read);
  }
  return isRunInput(parts) ? parts : null;
}

const FILES: ReadonlySet<unknown> = new Set(['document', 'audio', 'video']);

function partOf({ type: kind, text, source, metadata }: JsonObject): InputPart | null {
  if (kind === 'text' && typeof text === 'string') return { type: 'text', text };
  if (!isJsonObject(source) || typeof source.value !== 'string') return null;
  const { type, value, mimeType: mediaType } = source;
  if (kind === 'image' && type === 'url') return { type: 'image', url: value };
  if (typeof mediaType !== 'string') return null;
  if (kind === 'image' && type === 'data') return { type: 'image', data: value, mediaType };
  if (!FILES.has(kind)) return null;
  const { filename }: JsonObject = isJsonObject(metadata) ? metadata : {};
  const file = { type: 'file', mediaType, ...(typeof filename === 'string' ? { filename } : {}) } as const;
  if (type === 'url') return { ...file, url: value };
  return type === 'data' ? { ...file, data: value } : null;
}
