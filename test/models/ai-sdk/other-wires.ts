import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { type Said, type Wire, ofType, valuesOf } from './wire-server.ts';

const typed = (value: { readonly type: string; readonly [member: string]: unknown }) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;

/** A signature is opaque: it must come back as it is. */
export const SIGNATURE = 'EqQB+/sig==\u00e9"\\';

const CLAUDE_USAGE = {
  input_tokens: 10,
  cache_read_input_tokens: 20,
  cache_creation_input_tokens: 0,
  output_tokens: 9,
};

function blocks({ thinking, text, calls = [] }: Said) {
  return [
    ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: SIGNATURE }]),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
  ];
}

function stopReason({ end, calls = [] }: Said): string {
  if (end === 'length') return 'max_tokens';
  if (end === 'refusal' || end === 'filter') return 'refusal';
  return calls.length > 0 ? 'tool_use' : 'end_turn';
}

function claudeEvents(said: Said): readonly string[] {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' };
  const start = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...CLAUDE_USAGE, output_tokens: 1 },
  };
  const body = blocks(said).flatMap((block, index) => {
    const delta = (value: object) => ({ type: 'content_block_delta', index, delta: value });
    const begin = (content_block: object) => ({ type: 'content_block_start', index, content_block });
    const stop = { type: 'content_block_stop', index };
    if ('thinking' in block)
      return [
        begin({ type: 'thinking', thinking: '', signature: '' }),
        delta({ type: 'thinking_delta', thinking: block.thinking }),
        delta({ type: 'signature_delta', signature: block.signature }),
        stop,
      ];
    if ('text' in block)
      return [begin({ type: 'text', text: '' }), delta({ type: 'text_delta', text: block.text }), stop];
    const json = JSON.stringify(block.input);
    return [
      begin({ ...block, input: {} }),
      delta({ type: 'input_json_delta', partial_json: json.slice(0, 4) }),
      delta({ type: 'input_json_delta', partial_json: json.slice(4) }),
      stop,
    ];
  });
  return [
    typed({ type: 'message_start', message: start }),
    ...body.map((event) => typed(event)),
    typed({
      type: 'message_delta',
      delta: { stop_reason: stopReason(said), stop_sequence: null },
      usage: { output_tokens: 9 },
    }),
    typed({ type: 'message_stop' }),
  ];
}

export const anthropic: Wire = {
  name: '@ai-sdk/anthropic',
  id: 'anthropic.messages:claude-sonnet-4-5',
  model: (origin) => createAnthropic({ baseURL: `${origin}/v1`, apiKey: 'k' })('claude-sonnet-4-5'),
  events: claudeEvents,
  whole: (said) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: blocks(said),
    stop_reason: stopReason(said),
    stop_sequence: null,
    usage: CLAUDE_USAGE,
  }),
  errorEvent: (what) =>
    typed({
      type: 'error',
      error: { type: what === 'rate' ? 'rate_limit_error' : 'overloaded_error', message: 'busy' },
    }),
  resultsIn: (body) =>
    ofType(body, 'tool_result').map((part) => {
      const content: unknown = Reflect.get(part, 'content');
      return typeof content === 'string' ? content : JSON.stringify(content);
    }),
  imagesIn: (body) =>
    ofType(body, 'image')
      .flatMap((part) => valuesOf(part, 'data'))
      .map(String),
  tokens: { cached: 20, reasoning: undefined },
};

const GEMINI_USAGE = {
  promptTokenCount: 30,
  cachedContentTokenCount: 20,
  candidatesTokenCount: 4,
  thoughtsTokenCount: 5,
  totalTokenCount: 39,
};

function geminiParts({ thinking, text, calls = [] }: Said): readonly object[] {
  return [
    ...(thinking === undefined ? [] : [{ text: thinking, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ name, args }, index) => ({
      functionCall: { name, args },
      ...(index === 0 && thinking !== undefined ? { thoughtSignature: SIGNATURE } : {}),
    })),
  ];
}

function geminiReason({ end }: Said): string {
  if (end === 'length') return 'MAX_TOKENS';
  return end === 'filter' || end === 'refusal' ? 'SAFETY' : 'STOP';
}

const gemini = (parts: readonly object[], finishReason?: string) => ({
  candidates: [
    { content: { role: 'model', parts }, ...(finishReason === undefined ? {} : { finishReason }), index: 0 },
  ],
  usageMetadata: GEMINI_USAGE,
});

export const google: Wire = {
  name: '@ai-sdk/google',
  id: 'google.generative-ai:gemini-3-pro-preview',
  model: (origin) => createGoogle({ baseURL: `${origin}/v1beta`, apiKey: 'k' })('gemini-3-pro-preview'),
  events: (said) => {
    const parts = [{ text: '' }, ...geminiParts(said)].map((part) => gemini([part]));
    return [...parts, gemini([{ text: '' }]), gemini([{ text: '' }], geminiReason(said))].map(
      (value) => `data: ${JSON.stringify(value)}\n\n`,
    );
  },
  whole: (said) => gemini(geminiParts(said), geminiReason(said)),
  errorEvent: (what) => {
    const error = what === 'rate' ? { code: 429, status: 'RESOURCE_EXHAUSTED' } : { code: 503, status: 'UNAVAILABLE' };
    return `data: ${JSON.stringify({ error: { ...error, message: 'busy' } })}\n\n`;
  },
  resultsIn: (body) =>
    valuesOf(body, 'functionResponse')
      .flatMap((value) => valuesOf(value, 'content'))
      .map(String),
  imagesIn: (body) =>
    valuesOf(body, 'inlineData')
      .flatMap((value) => valuesOf(value, 'data'))
      .map(String),
  tokens: { cached: 20, reasoning: 5 },
};
