import { describeThrown } from '../actors/to-json.ts';
import type { ModelReply, ModelTool } from '../actors/model.ts';
import type { Severity } from '../parsing/errors.ts';
import { type JsonObject, isJsonObject } from '../parsing/json.ts';
import { parseToolCallArguments } from '../parsing/tool-call-arguments.ts';
import type { RepairTask, Repaired } from '../recovery/steps.ts';
import type { AgentCore } from './agent-core.ts';

const SEVERITIES: readonly Severity[] = ['low', 'medium', 'high', 'critical'];

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

const GUIDE = `The arguments of a tool call are wrong, and you mend them. Reply with the corrected arguments as one JSON object and nothing else. Change what is wrong and keep everything else. If it cannot be done, call the tool "escalate"; if going on would do harm, call "throwException".`;

/** Mends arguments by an agent: by its own function where it is a deterministic one, else by asking its model once. */
export async function repairBy(core: AgentCore, task: RepairTask, signal: AbortSignal): Promise<Repaired> {
  const { implementedBy } = core.options();
  if (implementedBy !== undefined) return { kind: 'arguments', value: await implementedBy(task) };
  const { instructions } = core.options();
  const own = typeof instructions === 'string' && instructions !== '' ? `${instructions}\n\n${GUIDE}` : GUIDE;
  try {
    const reply = await core.model().complete(
      {
        messages: [
          { role: 'system', content: own },
          { role: 'user', content: JSON.stringify(task, null, 2) },
        ],
        toolCalling: 'native',
        tools: OWN_TOOLS,
        stream: false,
      },
      { signal },
    );
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

/** Unless the model called one of its two tools, its text is the new argument text. */
function readRepair({ content, toolCalls = [] }: ModelReply): Repaired {
  for (const call of toolCalls) {
    const parsed = parseToolCallArguments(call.arguments);
    const args = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
    if (call.name === 'throwException') return { kind: 'throw', reason: reasonOf(args) };
    if (call.name === 'escalate') return { kind: 'escalate', reason: reasonOf(args), severity: severityOf(args) };
  }
  return { kind: 'arguments', value: content.trim() === '' ? null : content };
}

function reasonOf({ reason }: JsonObject): string {
  return typeof reason === 'string' && reason !== '' ? reason : 'no reason was given';
}

function severityOf({ severity }: JsonObject): Severity {
  return SEVERITIES.find((known) => typeof severity === 'string' && known === severity.toLowerCase()) ?? 'high';
}
