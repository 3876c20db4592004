import type { ToolCalling } from '../../actors/model.ts';
import type { Issue } from '../../json/errors.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { checkArguments, parseToolCallArguments } from '../../parsing/calls/arguments.ts';
import { recoverToSchema } from '../../parsing/recover/recover-to-schema.ts';
import { DEFAULT_LIMITS } from '../../parsing/repair/repairs.ts';
import type { AgentSettings } from '../contract/agent-setup.ts';
import type { CallRequest } from '../tool-call/call-request.ts';
import type { ReadReply } from './read-reply.ts';
import { type ShownOutput, type TypedAnswer, isObjectSchema, outputToolNamed, wrapped } from './typed-output.ts';

/** A reply of an agent whose answer has a schema: the answer is checked against it, and no longer counts as a call. */
export function withTypedAnswer(
  read: ReadReply,
  {
    shown,
    toolCalling,
    answers,
  }: {
    readonly shown: ShownOutput | null;
    readonly toolCalling: ToolCalling;
    readonly answers: AgentSettings['answers'];
  },
): ReadReply {
  if (shown === null) return answers === 'arguments' ? withArgumentText(read) : read;
  const given = read.calls.filter(({ tool }) => outputToolNamed(shown, tool) !== undefined);
  const calls = given.length === 0 ? read.calls : read.calls.filter((call) => !given.includes(call));
  if (read.plan !== null) return { ...read, calls };
  const [call] = given;
  const output =
    call !== undefined
      ? uncut(answerOfCall(call, shown), read.ended === 'length' && call === read.calls.at(-1))
      : calls.length > 0
        ? null
        : answerOfText(read, { shown, toolCalling });
  if (output === null) return calls === read.calls ? read : { ...read, calls };
  const heard = { ambiguous: false, malformed: false, planError: null, notRun: null };
  return {
    ...read,
    ...(calls.length === 0 ? heard : {}),
    calls,
    output,
    repairs: [...read.repairs, ...output.repairs],
  };
}

/**
 * A reply of a repair agent: if it calls nothing, its text is the arguments, even if they have the envelope's own fields. An
 * envelope counts if its answer is an object.
 */
function withArgumentText(read: ReadReply): ReadReply {
  const text = read.text.trim();
  if (text === '' || read.ambiguous || read.malformed || read.calls.length > 0) return read;
  const held = parseToolCallArguments(read.answer ?? '[]');
  return { ...read, answer: held.ok && isJsonObject(held.value) ? read.answer : text, planError: null };
}

/** An answer that was cut off does not fit, even if its JSON is complete: its content may not be. */
function uncut(answer: TypedAnswer, isCut: boolean): TypedAnswer {
  return isCut ? { ...answer, issues: [{ path: '', message: CUT_OFF }] } : answer;
}

function answerOfCall(call: CallRequest, shown: ShownOutput): TypedAnswer {
  const { args, unreadable } = call;
  if (unreadable !== null) {
    const message = unreadable.truncated ? CUT_OFF : `its arguments cannot be read: ${unreadable.reason}`;
    return { call, value: args, issues: [{ path: '', message }], repairs: [] };
  }
  const found = outputToolNamed(shown, call.tool);
  const checked = checkArguments(args, found?.tool.inputSchema ?? true);
  if (checked.ok) {
    const { value, repairs } = checked;
    return { call, value: found?.wraps === true ? (value.value ?? null) : value, issues: [], repairs };
  }
  const { error } = checked;
  const issues = error.kind === 'deserialization' ? error.issues : [{ path: '', message: error.parseError }];
  return { call, value: args, issues: found?.wraps === true ? issues.map(unwrappedPath) : issues, repairs: [] };
}

function unwrappedPath({ path, message }: Issue): Issue {
  return { path: path.startsWith('/value') ? path.slice('/value'.length) : path, message };
}

const CUT_OFF = 'it was cut off by the length limit';

/** The answer in a reply's text; null if there is none, and the reply is then handled as without a schema. */
function answerOfText(
  read: ReadReply,
  { shown, toolCalling }: { readonly shown: ShownOutput; readonly toolCalling: ToolCalling },
): TypedAnswer | null {
  const text = read.text.trim();
  if (text === '' || read.nativeCalls.length > 0) return null;
  const answer = read.answer ?? '';
  const texts = toolCalling === 'json' ? [answer, text] : [text, answer];
  const found = fittingText(
    texts.filter((one, index) => one !== '' && texts.indexOf(one) === index),
    shown,
  );
  // What an unusable reply holds by chance counts only where it fits.
  if (read.answer === null && found.issues.length > 0) return null;
  return uncut({ call: null, ...found }, read.ended === 'length');
}

/** The first of the texts that fits the schema, as it is, under `value` or in the envelope; else what is wrong with the first. */
function fittingText(texts: readonly string[], { spec: { schema }, way }: ShownOutput): Omit<TypedAnswer, 'call'> {
  const inValue = isObjectSchema(schema) ? null : valueIn(texts, wrapped(schema), 'value');
  // Where the server was asked to hold the reply to it, the object around the value is ours.
  if (inValue !== null && way === 'native') return inValue;
  const tried = texts.map((text) => recoverToSchema(text, { json: schema }, DEFAULT_LIMITS));
  for (const one of tried) if (one.ok && one.complete) return { value: one.value, issues: [], repairs: one.repairs };
  const inEnvelope = inValue ?? valueIn(texts, wrapped(schema, 'answer', BESIDE_ANSWER), 'answer');
  if (inEnvelope !== null) return inEnvelope;
  const [first] = tried;
  const issues = first === undefined || first.ok ? [{ path: '', message: 'its JSON is not complete' }] : first.issues;
  return { value: null, issues, repairs: [] };
}

/** What the envelope has beside its answer, which some models write unasked. */
const BESIDE_ANSWER: JsonObject = { thought: { type: 'string' }, goal: { type: 'string' } };

/** The value in the first of the texts that is an object around one. */
function valueIn(texts: readonly string[], json: JsonObject, name: string): Omit<TypedAnswer, 'call'> | null {
  for (const text of texts) {
    const one = recoverToSchema(text, { json }, DEFAULT_LIMITS);
    if (one.ok && one.complete && isJsonObject(one.value))
      return { value: one.value[name] ?? null, issues: [], repairs: one.repairs };
  }
  return null;
}
