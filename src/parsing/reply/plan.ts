import { isList } from '../../json/depth.ts';
import { isJsonObject, type Json, type JsonObject } from '../../json/json.ts';
import type { PlanStep } from '../reply.ts';
import { parseToolCallArguments } from '../recover/tool-call-arguments.ts';

/** A plan that can be run, or what is wrong with the one that was given; neither when there is none. */
export interface ReadPlan {
  readonly plan?: readonly PlanStep[];
  readonly planError?: string;
}

const ARGUMENT_KEYS = ['tool_args', 'arguments', 'args', 'parameters'];
const SHAPE = 'Give a non-empty list of steps, each {"tool": "<name>", "tool_args": {…}}.';

/** Reads the `plan` of a reply. Null is no plan; anything else that is no list of steps with a tool is malformed. */
export function readPlan(value: Json | undefined, complete: boolean): ReadPlan {
  if (value === undefined || value === null) return {};
  if (!isList(value)) {
    const found = isJsonObject(value) ? 'a single object' : `a ${typeof value}`;
    return { planError: `"plan" is ${found}, not a list. ${SHAPE}` };
  }
  if (value.length === 0) return { planError: `"plan" is an empty list. ${SHAPE}` };
  const plan: PlanStep[] = [];
  for (let i = 0; i < value.length; i += 1) {
    const step = value[i] ?? null;
    if (!isJsonObject(step)) return { planError: `Step ${i} of "plan" is no object. ${SHAPE}` };
    const tool = step['tool'];
    if (typeof tool !== 'string' || tool.trim() === '') return { planError: missingTool(step, i) };
    const args = readArguments(step);
    plan.push({ tool: tool.trim(), args: args.value, complete: (complete || i < value.length - 1) && args.complete });
  }
  return { plan };
}

function missingTool(step: JsonObject, index: number): string {
  const other = ['name', 'tool_name', 'function', 'action'].find((key) => typeof step[key] === 'string');
  const hint = other === undefined ? '' : ` It has "${other}" instead.`;
  return `Step ${index} of "plan" has no "tool".${hint} ${SHAPE}`;
}

function readArguments(step: JsonObject): { readonly value: Json; readonly complete: boolean } {
  const key = ARGUMENT_KEYS.find((candidate) => Object.hasOwn(step, candidate));
  const raw = key === undefined ? {} : (step[key] ?? {});
  if (typeof raw !== 'string') return { value: raw, complete: true };
  const read = parseToolCallArguments(raw);
  return read.ok ? { value: read.value, complete: read.complete } : { value: raw, complete: true };
}
