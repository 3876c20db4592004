/**
 * A model in llama.cpp's GGUF format that has learnt nothing: what it says next depends on its last token alone. So a real
 * server tokenizes, applies templates and grammars, streams and counts, within milliseconds and without a download.
 */

/** What is said, in pieces, and how often beside the others (a difference of 1 is 2.7 times as often). */
export type Saying = readonly [weight: number, ...pieces: readonly string[]];

const SIZE = 512;
const START = '<|im_start|>';
const END = '<|im_end|>';
/** Where every reply begins: at the end of "assistant\n". */
const NEWLINE = 10;
const CERTAIN = 30;

/** Tools as JSON in the system prompt, calls in `<tool_call>`; any order of messages. */
export const ANY_ORDER = `{%- if tools %}${START}system\n<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>
Call one with <tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call>${END}\n{% endif -%}
{%- for message in messages %}{{ '${START}' + message.role + '\n' }}{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}{{ '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}{{ '}\n</tool_call>' }}{% endfor %}{{ '${END}\n' }}{% endfor -%}
{%- if add_generation_prompt %}{{ '${START}assistant\n' }}{% endif %}`;

/** As Mistral's: users and assistants in turns, and call ids of nine characters. */
export const IN_TURNS = `{%- set turns = namespace(count = 0) -%}
{%- for message in messages if message.role != 'system' and message.role != 'tool' and not message.tool_calls -%}
{%- if (message.role == 'user') != (turns.count % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif -%}
{%- set turns.count = turns.count + 1 -%}{%- endfor -%}
{%- for message in messages -%}{%- for call in message.tool_calls or [] -%}
{%- if call.id | length != 9 %}{{ raise_exception('call ids have nine characters') }}{% endif -%}{%- endfor -%}{%- endfor -%}
${ANY_ORDER}`;

/** Writes the model: a reply is one of the sayings. */
export function tinyModel(sayings: readonly Saying[], template = ANY_ORDER): Buffer {
  const tokens = Array.from({ length: 256 }, (_, byte) => spelled([byte]));
  const weights = new Map<number, Map<number, number>>();
  const token = (text: string): number => {
    const known = tokens.indexOf(text, 256);
    return known === -1 ? tokens.push(text) - 1 : known;
  };
  const follows = (from: number, to: number, weight: number): void => {
    const all = weights.get(from) ?? new Map<number, number>();
    weights.set(from, all.set(to, weight));
  };
  const [text, , end] = ['<|endoftext|>', START, END].map(token) as [number, number, number];
  for (const [weight, ...pieces] of sayings) {
    let last = NEWLINE;
    for (const piece of pieces) {
      const next = token(spelled(Buffer.from(piece)));
      follows(last, next, last === NEWLINE ? weight : CERTAIN);
      last = next;
    }
    follows(last, end, CERTAIN);
  }
  const known = tokens.length;
  while (tokens.length < SIZE) tokens.push(`<unused ${tokens.length}>`);
  const types = tokens.map((_, at) => (at >= known ? 5 : at >= text && at <= end ? 3 : 1));
  return gguf(
    [
      ['general.architecture', 'llama'],
      ['general.name', 'tiny'],
      ['llama.context_length', 32_768],
      ['llama.embedding_length', SIZE],
      ['llama.block_count', 1],
      ['llama.feed_forward_length', 64],
      ['llama.attention.head_count', 8],
      ['llama.rope.dimension_count', 64],
      ['llama.attention.layer_norm_rms_epsilon', Float32Array.of(1e-6)],
      ['tokenizer.ggml.model', 'gpt2'],
      ['tokenizer.ggml.pre', 'qwen2'],
      ['tokenizer.ggml.tokens', tokens],
      ['tokenizer.ggml.token_type', types],
      ['tokenizer.ggml.merges', ['t h']],
      ['tokenizer.ggml.eos_token_id', end],
      ['tokenizer.ggml.bos_token_id', text],
      ['tokenizer.chat_template', template],
    ],
    layers(weights, end),
  );
}

/** The logits of each token after each other one; under a grammar, plain characters and the ends of values are likely. */
function layers(weights: ReadonlyMap<number, ReadonlyMap<number, number>>, end: number): readonly Tensor[] {
  const output = new Float32Array(SIZE * SIZE).fill(-8);
  const row = (to: number, weight: number): void => void output.fill(weight, to * SIZE, (to + 1) * SIZE);
  for (let to = 32; to < 127; to++) row(to, 0);
  for (const [sign, weight] of [
    ['"', 4],
    ['}', 3],
    [']', 3],
    [',', 1.5],
  ] as const)
    row(sign.charCodeAt(0), weight);
  for (let to = 256; to < SIZE; to++) row(to, -CERTAIN);
  row(end, 2);
  for (const [from, all] of weights) for (const [to, weight] of all) output[to * SIZE + from] = weight;
  const none = (columns: number, rows: number): Tensor[1] => [[columns, rows], new Float32Array(columns * rows)];
  const ones: Tensor[1] = [[SIZE], new Float32Array(SIZE).fill(1)];
  const identity = new Float32Array(SIZE * SIZE).map((_, at) => (at % (SIZE + 1) === 0 ? 1 : 0));
  return [
    ['token_embd.weight', [[SIZE, SIZE], identity]],
    ['output_norm.weight', ones],
    ['output.weight', [[SIZE, SIZE], output.map((logit) => logit / Math.sqrt(SIZE))]],
    ['blk.0.attn_norm.weight', ones],
    ['blk.0.ffn_norm.weight', ones],
    ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].map((name): Tensor => [`blk.0.${name}.weight`, none(SIZE, SIZE)]),
    ['blk.0.ffn_gate.weight', none(SIZE, 64)],
    ['blk.0.ffn_up.weight', none(SIZE, 64)],
    ['blk.0.ffn_down.weight', none(64, SIZE)],
  ];
}

/** Bytes as byte-level tokenizers write them: those that cannot be seen as letters from 256 on. */
function spelled(bytes: Iterable<number>): string {
  return Array.from(bytes, (byte) => LETTERS[byte]).join('');
}

const LETTERS = letters();

function letters(): readonly string[] {
  let hidden = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const isSeen = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    return String.fromCharCode(isSeen ? byte : hidden++);
  });
}

type Tensor = readonly [name: string, [shape: readonly number[], data: Float32Array]];
type Value = string | number | readonly string[] | readonly number[] | Float32Array;

function gguf(values: readonly (readonly [string, Value])[], tensors: readonly Tensor[]): Buffer {
  let offset = 0;
  const infos = tensors.map(([name, [shape, data]]) => {
    const info = [text(name), u32(shape.length), ...shape.map(u64), u32(0), u64(offset)];
    offset += data.byteLength;
    return Buffer.concat(info);
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(values.length),
    ...values.flatMap(([key, value]) => [text(key), written(value)]),
    ...infos,
  ]);
  const gap = Buffer.alloc((32 - (head.length % 32)) % 32);
  return Buffer.concat([head, gap, ...tensors.map(([, [, { buffer }]]) => Buffer.from(buffer))]);
}

function written(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([u32(8), text(value)]);
  if (typeof value === 'number') return Buffer.concat([u32(4), u32(value)]);
  if (value instanceof Float32Array) return Buffer.concat([u32(6), Buffer.from(value.buffer)]);
  const items = value.map((item) => (typeof item === 'string' ? text(item) : u32(item)));
  return Buffer.concat([u32(9), u32(typeof value[0] === 'string' ? 8 : 5), u64(value.length), ...items]);
}

const u32 = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value: number): Buffer => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
const text = (value: string): Buffer => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
