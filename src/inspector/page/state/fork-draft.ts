import { inexactness, parseStrict } from '../../../json/depth.ts';
import { type Json, type JsonObject, isJsonObject } from '../../../json/json.ts';

/** The leaves whose outcomes a reader may write: what a model replied, what a tool gave. */
export type ForkLeaf = 'callLlm' | 'callTool';

/** What a user writes to replace a recorded outcome, to fork the run with it. */
export type ForkDraft = ReplyDraft | ResultDraft;

interface DraftPlace {
  readonly session: string;
  /** The line of the outcome. */
  readonly entry: number;
}

/** What a model says instead: a text, calls of tools, or both. */
export interface ReplyDraft extends DraftPlace {
  readonly leaf: 'callLlm';
  readonly text: string;
  readonly calls: readonly DraftCall[];
}

/** What a tool gives instead, or how it fails. */
export interface ResultDraft extends DraftPlace {
  readonly leaf: 'callTool';
  readonly fails: boolean;
  readonly json: string;
  readonly message: string;
}

/** A call of a reply that is being written. */
export interface DraftCall {
  readonly key: number;
  readonly tool: string;
  /** Its arguments; if those in its form are invalid, the last valid ones. */
  readonly args: JsonObject;
  readonly isWrong: boolean;
}

/** A draft that says what is recorded; `value`: the outcome as the recording writes it. */
export function forkDraft(leaf: ForkLeaf, place: DraftPlace, value: Json): ForkDraft {
  const { session, entry } = place;
  const given: JsonObject = isJsonObject(value) && isJsonObject(value.value) ? value.value : {};
  if (leaf === 'callLlm') {
    const text = typeof given.content === 'string' ? given.content : '';
    return { session, entry, leaf, text, calls: callsIn(given.toolCalls) };
  }
  const { data, error, ...rest } = given;
  const threw = isJsonObject(value) && isJsonObject(value.error) ? value.error.message : null;
  const failure = threw ?? error ?? null;
  const json = JSON.stringify(failure === null ? (data ?? rest) : {}, null, 2);
  const message = typeof failure === 'string' ? failure : '';
  return { session, entry, leaf, fails: failure !== null, json, message };
}

/** The outcome that a draft says, as a recording writes it; null while it says none. */
export function draftOutcome(draft: ForkDraft): Json | null {
  if (draft.leaf === 'callTool') {
    const { fails, json, message } = draft;
    if (fails) return message.trim() === '' ? null : { ok: false, error: { code: 'execution', message } };
    const read = readJson(json);
    return read.ok ? { ok: true, value: { status: 'success', data: read.value } } : null;
  }
  const { text, calls } = draft;
  if (calls.some(({ tool, isWrong }) => tool === '' || isWrong)) return null;
  if (text.trim() === '' && calls.length === 0) return null;
  const toolCalls = calls.map(({ tool, args }) => ({ name: tool, arguments: args }));
  return { ok: true, value: { content: text, ...(toolCalls.length > 0 ? { toolCalls } : {}) } };
}

function callsIn(list: Json | undefined): readonly DraftCall[] {
  return (Array.isArray(list) ? list : []).flatMap((call: unknown, key) => {
    if (!isJsonObject(call) || typeof call.name !== 'string') return [];
    // As the run read it: a whole number that JavaScript cannot hold is the text of its digits.
    const args =
      typeof call.arguments === 'string' ? parseStrict(call.arguments, Infinity)?.value : (call.arguments ?? null);
    return [{ key, tool: call.name, args: isJsonObject(args) ? args : {}, isWrong: false }];
  });
}

/** Parses what a user has written as JSON. */
export function readJson(
  text: string,
): { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string } {
  try {
    const value: Json = JSON.parse(text);
    const problem = inexactness(text);
    return problem === undefined ? { ok: true, value } : { ok: false, problem };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : 'This is not JSON.' };
  }
}
