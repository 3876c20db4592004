import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type Said, type Wire, ofType, valuesOf } from './wire-server.ts';

const sse = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
interface Typed {
  readonly type: string;
  readonly [member: string]: unknown;
}
const typed = (value: Typed) => `event: ${value.type}\n${sse(value)}`;
const textsOf = (values: readonly unknown[]) =>
  values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));

const CHAT = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'm' };
const CHAT_USAGE = {
  prompt_tokens: 30,
  completion_tokens: 9,
  total_tokens: 39,
  prompt_tokens_details: { cached_tokens: 20 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

const chatCall = ({ id, name, args }: NonNullable<Said['calls']>[number], index: number) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

function chatEnd({ end, calls = [] }: Said): string {
  if (end === 'length') return 'length';
  if (end === 'filter') return 'content_filter';
  return calls.length > 0 ? 'tool_calls' : 'stop';
}

function chatEvents(said: Said): readonly string[] {
  const chunk = (delta: unknown, finish_reason: string | null = null) =>
    sse({ ...CHAT, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] });
  const { thinking, text, calls = [], end } = said;
  const words = (field: string, whole = '') =>
    [whole.slice(0, 3), whole.slice(3)].filter((piece) => piece !== '').map((piece) => chunk({ [field]: piece }));
  return [
    chunk({ role: 'assistant', content: '' }),
    ...words('reasoning_content', thinking),
    ...words(end === 'refusal' ? 'refusal' : 'content', text),
    ...calls.map((call, index) => chunk({ tool_calls: [chatCall(call, index)] })),
    chunk({}, chatEnd(said)),
    sse({ ...CHAT, object: 'chat.completion.chunk', choices: [], usage: CHAT_USAGE }),
    'data: [DONE]\n\n',
  ];
}

function chatWhole(said: Said): unknown {
  const { thinking, text = null, calls = [], end } = said;
  const message = {
    role: 'assistant',
    content: end === 'refusal' ? null : text,
    ...(end === 'refusal' ? { refusal: text } : {}),
    ...(thinking === undefined ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(chatCall) }),
  };
  const choices = [{ index: 0, message, finish_reason: chatEnd(said) }];
  return { ...CHAT, object: 'chat.completion', choices, usage: CHAT_USAGE };
}

const messagesOf = (body: unknown) => valuesOf(body, 'messages').flat();

const chat = {
  events: chatEvents,
  whole: chatWhole,
  errorEvent: (what: 'overloaded' | 'rate') =>
    sse({ error: { message: 'busy', type: what === 'rate' ? 'rate_limit_error' : 'server_error', code: null } }),
  resultsIn: (body: unknown) =>
    textsOf(
      messagesOf(body).flatMap((message) =>
        valuesOf(message, 'role').includes('tool') ? valuesOf(message, 'content') : [],
      ),
    ),
  imagesIn: (body: unknown) =>
    ofType(body, 'image_url')
      .flatMap((part) => textsOf(valuesOf(part, 'url')))
      .map((url) => url.replace(/^data:.*base64,/, '')),
};

export const compatible: Wire = {
  ...chat,
  name: '@ai-sdk/openai-compatible',
  id: 'loop.chat:m',
  model: (origin) => createOpenAICompatible({ name: 'loop', baseURL: `${origin}/v1`, includeUsage: true })('m'),
  tokens: { cached: 20, reasoning: 5 },
};

export const openaiChat: Wire = {
  ...chat,
  name: '@ai-sdk/openai, chat',
  id: 'openai.chat:gpt-4o',
  model: (origin) => createOpenAI({ baseURL: `${origin}/v1`, apiKey: 'k' }).chat('gpt-4o'),
  tokens: { cached: 20, reasoning: 5 },
};

const RESPONSE = { id: 'resp_1', created_at: 1_700_000_000, model: 'gpt-5' };
const RESPONSE_USAGE = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 20 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 5 },
};

/** What only the server can read: it must come back as it is. */
export const ENCRYPTED = 'gAAAA+/enc==\u00e9"\\';

function responseItems({ thinking, text, calls = [], end }: Said) {
  const words = end === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] };
  return [
    ...(thinking === undefined
      ? []
      : [
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [{ type: 'summary_text', text: thinking }],
            encrypted_content: ENCRYPTED,
          },
        ]),
    ...(text === undefined ? [] : [{ type: 'message', role: 'assistant', id: 'msg_1', content: [words] }]),
    ...calls.map(({ id, name, args }) => ({
      type: 'function_call',
      id: `fc_${id}`,
      call_id: id,
      name,
      arguments: JSON.stringify(args),
      status: 'completed',
    })),
  ];
}

function incomplete({ end }: Said) {
  const reason = end === 'length' ? 'max_output_tokens' : end === 'filter' ? 'content_filter' : null;
  return { incomplete_details: reason === null ? null : { reason }, usage: RESPONSE_USAGE };
}

function responseEvents(said: Said): readonly string[] {
  const { thinking = '', text = '', end } = said;
  const items = responseItems(said).flatMap((item, output_index): readonly Typed[] => {
    const at = { item_id: item.id, output_index };
    const done = { type: 'response.output_item.done', output_index, item };
    const added = (begun: object) => ({ type: 'response.output_item.added', output_index, item: begun });
    if (item.type === 'reasoning')
      return [
        added({ type: 'reasoning', id: item.id, summary: [], encrypted_content: null }),
        { type: 'response.reasoning_summary_part.added', ...at, summary_index: 0 },
        { type: 'response.reasoning_summary_text.delta', ...at, summary_index: 0, delta: thinking },
        { type: 'response.reasoning_summary_part.done', ...at, summary_index: 0 },
        done,
      ] as const;
    if (item.type === 'message')
      return [
        added({ type: 'message', id: item.id, role: 'assistant', content: [] }),
        {
          type: end === 'refusal' ? 'response.refusal.delta' : 'response.output_text.delta',
          ...at,
          content_index: 0,
          delta: text,
        },
        ...(end === 'refusal' ? [{ type: 'response.refusal.done', ...at, content_index: 0, refusal: text }] : []),
        done,
      ];
    const args = 'arguments' in item ? item.arguments : '';
    return [
      added({ ...item, arguments: '', status: 'in_progress' }),
      { type: 'response.function_call_arguments.delta', ...at, delta: args },
      { type: 'response.function_call_arguments.done', ...at, arguments: args },
      done,
    ];
  });
  const type = said.end === 'length' || said.end === 'filter' ? 'response.incomplete' : 'response.completed';
  return [
    typed({ type: 'response.created', response: RESPONSE }),
    ...items.map((event) => typed(event)),
    typed({ type, response: { ...RESPONSE, ...incomplete(said) } }),
  ];
}

export const openaiResponses: Wire = {
  name: '@ai-sdk/openai, responses',
  id: 'openai.responses:gpt-5',
  model: (origin) => createOpenAI({ baseURL: `${origin}/v1`, apiKey: 'k' })('gpt-5'),
  events: responseEvents,
  whole: (said) => ({ ...RESPONSE, object: 'response', output: responseItems(said), ...incomplete(said) }),
  errorEvent: (what) =>
    typed({
      type: 'error',
      sequence_number: 4,
      error: {
        type: what === 'rate' ? 'rate_limit_error' : 'server_error',
        code: what === 'rate' ? 'rate_limit_exceeded' : 'server_error',
        message: 'busy',
        param: null,
      },
    }),
  resultsIn: (body) => textsOf(ofType(body, 'function_call_output').flatMap((item) => valuesOf(item, 'output'))),
  imagesIn: (body) =>
    ofType(body, 'input_image')
      .flatMap((part) => textsOf(valuesOf(part, 'image_url')))
      .map((url) => url.replace(/^data:.*base64,/, '')),
  tokens: { cached: 20, reasoning: 5 },
};
