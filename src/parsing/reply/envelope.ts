import { isList } from '../../json/depth.ts';
import { isJsonObject, type Json, type JsonObject } from '../../json/json.ts';
import {
  bareCallsOf,
  ENVELOPE_ARGUMENT_KEYS,
  hoistName,
  isDefinition,
  makeCall,
  type PlanStep,
  readPlan,
  type ToolCallRequest,
} from '../calls/call-forms.ts';
import { isRegistered, type RegisteredTools } from '../calls/registered-tools.ts';
import type { Repair } from '../repair/repairs.ts';

/** What a JSON value says as a reply: the envelope's fields, or the tool calls that it spells. */
export interface Envelope extends Pick<Reply, 'thought' | 'goal' | 'answer' | 'calls' | 'plan' | 'planError'> {
  /** `envelope`: the agent's own format · `calls`: another way to write calls of registered tools. */
  readonly form: 'envelope' | 'calls';
  /** What had to be moved to read it. */
  readonly repairs?: readonly Repair[];
}

const LIST_KEYS = ['tool_calls', '__tool_calls__', 'function_calls'];
/** The envelope has these fields and no others: JSON with any other field is data. */
const FIELDS = new Set(['thought', 'goal', 'tool', 'answer', 'plan', ...ENVELOPE_ARGUMENT_KEYS]);
/** What models write where they call nothing. */
const NO_TOOL = new Set(['', 'none', 'null', 'n/a']);

/** Reads a value as a reply; undefined when it is neither the envelope nor calls of registered tools. */
export function readEnvelope(
  value: Json,
  tools: RegisteredTools | undefined,
  { complete, repaired }: { readonly complete: boolean; readonly repaired: boolean },
): Envelope | undefined {
  if (isList(value)) return readList(value, tools, { complete, repaired });
  if (!isJsonObject(value)) return undefined;
  const hoisted = !repaired || typeof value['tool'] === 'string' ? undefined : hoistName(value);
  if (hoisted !== undefined) {
    const read = readEnvelope(hoisted.value, tools, { complete, repaired });
    if (read !== undefined && read.calls.length > 0) return { ...read, repairs: [hoisted.repair] };
  }
  return isEnvelope(value) ? readFields(value, tools, complete) : readForeign(value, tools, complete);
}

function readFields(value: JsonObject, tools: RegisteredTools | undefined, complete: boolean): Envelope {
  const answer = readAnswer(value['answer']);
  const { plan, planError } = readPlan(value['plan'], complete);
  return {
    form: 'envelope',
    thought: readText(value['thought']),
    goal: readText(value['goal']),
    calls: readCall(value, tools, complete),
    ...(answer === undefined ? {} : { answer }),
    ...(plan === undefined ? {} : { plan }),
    ...(planError === undefined || answer !== undefined ? {} : { planError }),
  };
}

/** True for an object of the envelope's fields and no others, one of which says something. */
function isEnvelope(value: JsonObject): boolean {
  for (const key in value) {
    if (!FIELDS.has(key)) return false;
    if (typeof value[key] === 'object' && isArgumentKey(key) && isDefinition(value[key] ?? null)) return false;
  }
  return (
    typeof value['thought'] === 'string' || typeof value['tool'] === 'string' || 'answer' in value || 'plan' in value
  );
}

/** The call of the envelope: a `tool` names one, registered or not, unless it says that there is none. */
function readCall(
  value: JsonObject,
  tools: RegisteredTools | undefined,
  complete: boolean,
): readonly ToolCallRequest[] {
  const { tool } = value;
  if (typeof tool !== 'string') return [];
  const name = tool.trim();
  if (NO_TOOL.has(name.toLowerCase()) && !isRegistered(name, tools)) return [];
  const key = ENVELOPE_ARGUMENT_KEYS.find((candidate) => Object.hasOwn(value, candidate));
  return [makeCall(name, key === undefined ? {} : (value[key] ?? {}), complete)];
}

/** True for a name under which the envelope's arguments may stand. */
export function isArgumentKey(key: string): boolean {
  return ENVELOPE_ARGUMENT_KEYS.includes(key);
}

/** Calls of registered tools in another form than the envelope's: `{name, arguments}`, or a list of them under a key. */
function readForeign(value: JsonObject, tools: RegisteredTools | undefined, complete: boolean): Envelope | undefined {
  const listed = LIST_KEYS.find((key) => isList(value[key]));
  const calls = bareCallsOf(
    listed === undefined ? value : (value[listed] ?? []),
    complete,
    listed !== undefined,
  ).filter(({ name }) => isRegistered(name, tools));
  if (calls.length === 0) return undefined;
  return { form: 'calls', thought: readText(value['thought']), goal: readText(value['goal']), calls };
}

/** A list is a reply when every item of it is one and none is an answer or a plan. */
function readList(
  items: readonly Json[],
  tools: RegisteredTools | undefined,
  { complete, repaired }: { readonly complete: boolean; readonly repaired: boolean },
): Envelope | undefined {
  const calls: ToolCallRequest[] = [];
  let thought = '';
  let envelopes = 0;
  for (let i = 0; i < items.length; i += 1) {
    const item = items[i] ?? null;
    const isWhole = complete || i < items.length - 1;
    const read = isJsonObject(item) ? readEnvelope(item, tools, { complete: isWhole, repaired }) : undefined;
    if (items.length === 1 && read !== undefined && (read.calls.length > 0 || read.plan !== undefined)) return read;
    if (read === undefined || read.answer !== undefined || read.plan !== undefined || read.calls.length === 0)
      return undefined;
    if (read.form === 'envelope') envelopes += 1;
    thought = thought === '' ? read.thought : thought;
    calls.push(...read.calls);
  }
  return calls.length === 0 ? undefined : { form: envelopes > 0 ? 'envelope' : 'calls', thought, goal: '', calls };
}

function readText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Null and blank are not an answer; a number or an object becomes text. */
function readAnswer(value: Json | undefined): string | undefined {
  const text = readText(value);
  return text.trim() === '' ? undefined : text;
}

/** How a reply was read, in the order in which the ways are tried. */
export type Strategy = 'direct' | 'dialect' | 'code-block' | 'balanced' | 'repaired' | 'fields' | 'text';

/** A model's reply, read: what it thinks, what it wants, and how that was recovered from its text. */
export interface Reply {
  readonly thought: string;
  readonly goal: string;
  readonly answer?: string;
  readonly calls: readonly ToolCallRequest[];
  readonly plan?: readonly PlanStep[];
  /** Set when the reply holds a plan that cannot be run; says why. */
  readonly planError?: string;
  readonly strategy: Strategy;
  readonly dialect?: string;
  readonly complete: boolean;
  /** Several readings of equal rank and different value: none is run, the model is asked. */
  readonly ambiguous?: readonly Json[];
  readonly repairs: readonly Repair[];
}
