import type { ModelRequest } from '../../actors/model.ts';
import { deepFreeze } from '../../actors/leaf.ts';
import type { JsonObject } from '../../json/json.ts';
import { withoutImages } from '../conversation/conversation.ts';
import type { LlmCallInput } from '../llm-call/llm-call-input.ts';

/** The envelope that a model writes in json mode, as a schema for servers that can hold it to one. */
const ENVELOPE_SCHEMA = envelopeSchema({
  plan: {
    type: 'array',
    items: {
      type: 'object',
      properties: { tool: { type: 'string' }, tool_args: { type: 'object' } },
      required: ['tool'],
    },
  },
});
const WITHOUT_PLAN = envelopeSchema({});

function envelopeSchema(plan: JsonObject): JsonObject {
  return deepFreeze({
    type: 'object',
    properties: {
      thought: { type: 'string' },
      goal: { type: 'string' },
      tool: { type: 'string' },
      tool_args: { type: 'object' },
      ...plan,
      answer: { type: 'string' },
    },
  });
}

/** The request of one attempt: the system prompt first, then the conversation as it stands. */
export function composeRequest(input: LlmCallInput): ModelRequest {
  const { settings, toolCalling, tools } = input;
  const native = toolCalling === 'native' && tools.length > 0;
  // Of another model than the agent's own it is not known whether it takes images.
  const takesImages = settings.images === 'sent' && input.model === '';
  return {
    messages: [input.system[toolCalling], ...(takesImages ? input.messages : withoutImages(input.messages))],
    toolCalling,
    ...(native ? { tools, parallelToolCalls: settings.parallelToolCalls } : {}),
    ...(toolCalling === 'json' ? { responseSchema: settings.plans === false ? WITHOUT_PLAN : ENVELOPE_SCHEMA } : {}),
    stream: settings.streaming,
    ...(settings.temperature === null ? {} : { temperature: settings.temperature }),
    ...(settings.maxTokens === null ? {} : { maxTokens: settings.maxTokens }),
  };
}
