import { describeThrown } from '../actors/to-json.ts';
import type { ModelReply, ModelRequest, ModelTool, ToolCalling } from '../actors/model.ts';
import { type Json, type JsonObject, isJsonObject } from '../parsing/json.ts';
import { maskReply } from '../parsing/masks.ts';
import { parseReply } from '../parsing/reply/parse-reply.ts';
import { parseToolCallArguments } from '../parsing/tool-call-arguments.ts';
import { SEVERITIES, readSeverity } from '../recovery/severity.ts';
import type { RepairTask, Repaired } from '../recovery/steps.ts';
import type { AgentCore } from './agent-core.ts';
import { toolCallingOf } from './agent-settings.ts';
import type { AgentOptions } from './options.ts';

const OWN_TOOLS: readonly ModelTool[] = [
  {
    name: 'escalate',
    description: 'Say that these arguments are not yours to mend. Somebody above decides.',
    inputSchema: {
      type: 'object',
      properties: { reason: { type: 'string' }, severity: { enum: [...SEVERITIES] } },
      required: ['reason'],
    },
  },
  {
    name: 'throwException',
    description: 'Stop the whole run at once, because going on would do harm.',
    inputSchema: { type: 'object', properties: { reason: { type: 'string' } }, required: ['reason'] },
  },
];

const GUIDE =
  'The arguments of a tool call are wrong, and you mend them. Reply with the corrected arguments as one JSON object and nothing else. Change what is wrong and keep everything else.';

const WAYS_OUT: { readonly [mode in ToolCalling]: string } = {
  native: 'If it cannot be done, call the tool "escalate"; if going on would do harm, call "throwException".',
  json: 'If it cannot be done, reply {"tool": "escalate", "tool_args": {"reason": "why", "severity": "low, medium, high or critical"}}; if going on would do harm, reply {"tool": "throwException", "tool_args": {"reason": "why"}}.',
};

/** Mends arguments by an agent: by its own function where it is a deterministic one, else by asking its model once. */
export async function repairBy(core: AgentCore, task: RepairTask, signal: AbortSignal): Promise<Repaired> {
  const { implementedBy } = core.options();
  if (implementedBy !== undefined) return { kind: 'arguments', value: await implementedBy(task) };
  try {
    const reply = await replyOf(core, task, signal);
    return { ...readRepair(reply), ...(reply.usage === undefined ? {} : { usage: reply.usage }) };
  } catch (error) {
    if (signal.aborted) throw error;
    return {
      kind: 'escalate',
      reason: `the repair agent '${core.name}' failed: ${describeThrown(error).message}`,
      severity: 'high',
    };
  }
}

/** Asks the agent's model; one whose server takes no tools is asked again without. */
async function replyOf(core: AgentCore, task: RepairTask, signal: AbortSignal): Promise<ModelReply> {
  const mode = toolCallingOf(core.options(), core.model());
  const ask = (how: ToolCalling): Promise<ModelReply> =>
    core.model().complete(requestFor(core.options(), task, how), { signal });
  try {
    return await ask(mode);
  } catch (error) {
    if (mode === 'native' && describeThrown(error).code === 'no-native-tools') return ask('json');
    throw error;
  }
}

function requestFor({ instructions }: AgentOptions, task: RepairTask, mode: ToolCalling): ModelRequest {
  const own = typeof instructions === 'string' && instructions !== '' ? `${instructions}\n\n` : '';
  return {
    messages: [
      { role: 'system', content: `${own}${GUIDE} ${WAYS_OUT[mode]}` },
      { role: 'user', content: JSON.stringify(task, null, 2) },
    ],
    toolCalling: mode,
    ...(mode === 'native' ? { tools: OWN_TOOLS } : {}),
    stream: false,
  };
}

/** Unless the model called one of its two tools, in whatever form, its text is the new argument text. */
function readRepair({ content, toolCalls }: ModelReply): Repaired {
  const native = (toolCalls ?? []).map((call) => ({ name: call.name, args: argumentsOf(call.arguments) }));
  const written = native.length > 0 ? [] : parseReply(content, { tools: OWN_TOOLS, textCalls: 'whole-reply' }).calls;
  for (const { name, args } of [...native, ...written]) {
    const given = isJsonObject(args) ? args : {};
    if (name === 'throwException') return { kind: 'throw', reason: reasonOf(given) };
    if (name === 'escalate')
      return { kind: 'escalate', reason: reasonOf(given), severity: readSeverity(given.severity) };
  }
  const text = messageOf(content);
  return { kind: 'arguments', value: text === '' ? null : text };
}

/** The text without the reasoning before it and special tokens behind it. */
function messageOf(content: string): string {
  const { text, end } = maskReply(content);
  return text.slice(0, end).trim();
}

function argumentsOf(raw: unknown): Json {
  const parsed = parseToolCallArguments(raw);
  return parsed.ok ? parsed.value : null;
}

function reasonOf({ reason }: JsonObject): string {
  return typeof reason === 'string' && reason !== '' ? reason : 'no reason was given';
}
