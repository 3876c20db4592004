import type { ModelReply, ToolCalling } from '../../actors/model.ts';
import type { Issue } from '../../json/errors.ts';
import { type JsonSchema, isJsonObject } from '../../json/json.ts';
import { checkArguments } from '../../parsing/calls/arguments.ts';
import { recoverToSchema } from '../../parsing/recover/recover-to-schema.ts';
import { DEFAULT_LIMITS } from '../../parsing/repair/repairs.ts';
import type { CallRequest } from '../tool-call/call-request.ts';
import type { ReadReply } from './read-reply.ts';
import { type OutputTool, type ShownOutput, type TypedAnswer, isObjectSchema, wrapped } from './typed-output.ts';

/** A reply of an agent whose answer has a schema: its answer is held against it, and is none of its calls any more. */
export function withTypedAnswer(
  read: ReadReply,
  reply: ModelReply,
  { shown, toolCalling }: { readonly shown: ShownOutput | null; readonly toolCalling: ToolCalling },
): ReadReply {
  if (shown === null) return read;
  const given = read.calls.filter(({ tool }) => toolNamed(shown, tool) !== undefined);
  const calls = given.length === 0 ? read.calls : read.calls.filter((call) => !given.includes(call));
  if (read.plan !== null) return { ...read, calls };
  const [call] = given;
  const output =
    call !== undefined
      ? answerOfCall(call, shown)
      : calls.length > 0
        ? null
        : answerOfText(read, reply, { shown, toolCalling });
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

/** The output tool of a name, whatever its case. */
function toolNamed({ tools }: ShownOutput, name: string): OutputTool | undefined {
  const lower = name.trim().toLowerCase();
  return tools.find(({ tool }) => tool.name === name) ?? tools.find(({ tool }) => tool.name.toLowerCase() === lower);
}

function answerOfCall(call: CallRequest, shown: ShownOutput): TypedAnswer {
  const { args, unreadable } = call;
  if (unreadable !== null) {
    const message = unreadable.truncated ? CUT_OFF : `its arguments cannot be read: ${unreadable.reason}`;
    return { call, value: args, issues: [{ path: '', message }], repairs: [] };
  }
  const found = toolNamed(shown, call.tool);
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

/** The answer in a reply's text; null where it holds none, so that the reply is judged as any other. */
function answerOfText(
  read: ReadReply,
  reply: ModelReply,
  { shown, toolCalling }: { readonly shown: ShownOutput; readonly toolCalling: ToolCalling },
): TypedAnswer | null {
  const text = read.text.trim();
  if (text === '' || read.nativeCalls.length > 0) return null;
  const answer = read.answer ?? '';
  const texts = toolCalling === 'json' ? [answer, text] : [text, answer];
  const found = fittingText(
    texts.filter((one, index) => one !== '' && texts.indexOf(one) === index),
    shown.spec.schema,
  );
  // What an unusable reply holds by chance counts only where it fits.
  if (read.answer === null && found.issues.length > 0) return null;
  const cut = reply.finishReason === 'length';
  return { call: null, ...found, issues: cut ? [{ path: '', message: CUT_OFF }] : found.issues };
}

/** The first of the texts that fits the schema, as it is or under `value`; else what is wrong with the first. */
function fittingText(texts: readonly string[], schema: JsonSchema): Omit<TypedAnswer, 'call'> {
  const tried = texts.map((text) => recoverToSchema(text, { json: schema }, DEFAULT_LIMITS));
  for (const one of tried) if (one.ok && one.complete) return { value: one.value, issues: [], repairs: one.repairs };
  if (!isObjectSchema(schema))
    for (const text of texts) {
      const one = recoverToSchema(text, { json: wrapped(schema) }, DEFAULT_LIMITS);
      if (one.ok && one.complete && isJsonObject(one.value))
        return { value: one.value.value ?? null, issues: [], repairs: one.repairs };
    }
  const [first] = tried;
  const issues = first === undefined || first.ok ? [{ path: '', message: 'its JSON is not complete' }] : first.issues;
  return { value: null, issues, repairs: [] };
}
