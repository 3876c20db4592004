import fc from 'fast-check';
import type { Json, JsonObject } from '../../src/parsing/index.ts';

/** Pieces of text that have led parsers astray. */
const TRICKY = [
  'list the files',
  'a {curly} and [square] text',
  "it's done",
  'say "hi", then go',
  'price: $3.50, tax: 8%',
  'http://x.io/?a=1&b={c}',
  'path C:\\temp\\new',
  'line one\nline two',
  'tab\there',
  '# heading\n```js\nlet a = {b: 1}\n```\n',
  'if (a < b && c > d) { return [1, 2]; }',
  '日本語 テキスト 😀',
  'comma, colon: semi; done',
  'null',
  'true',
  '42',
  '',
  ' padded ',
  '<b>bold</b>',
  'SELECT * FROM t -- all',
  '{"nested": "json"}',
  'end with backslash \\',
  '// no comment',
  '/* none */',
  '...',
  'a = b => c',
  '\u0000\u001f',
  '𝒳 astral',
];

/** Text without anything that some damage makes ambiguous. */
export const plainText: fc.Arbitrary<string> = fc
  .array(
    fc.constantFrom('list', 'the', 'files', 'in', 'Paris', 'now', 'x1', 'été', '東京', '7', 'https', 'report.txt'),
    {
      minLength: 1,
      maxLength: 6,
    },
  )
  .map((words) => words.join(' '));

/** Words on several lines, with tabs between them. */
export const brokenLines: fc.Arbitrary<string> = fc
  .tuple(plainText, fc.constantFrom('\n', '\t', '\n\n', '\r\n'), plainText)
  .map(([first, gap, second]) => first + gap + second);

/** Words of which some are quoted. */
export const quotation: fc.Arbitrary<string> = fc
  .tuple(plainText, plainText, fc.constantFrom('" again', '", and left', '" - "no"'))
  .map(([first, second, rest]) => `${first} "${second}${rest}`);

export const trickyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...TRICKY) },
  { weight: 2, arbitrary: plainText },
  { weight: 1, arbitrary: fc.string({ maxLength: 30 }) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...TRICKY), fc.constantFrom(...TRICKY)).map(([a, b]) => a + b) },
);

export const identifier: fc.Arbitrary<string> = fc.constantFrom(
  'city',
  'path',
  'query',
  'limit',
  'user_id',
  'options',
  'items',
  'unit',
  'recursive',
  'content',
);

const numbers: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: -1_000_000, max: 1_000_000 }),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }).map((n) => Math.round(n * 100) / 100 + 0),
);

/** A JSON value as tools take it: keys are identifiers, texts come from `text`. */
export function argument(text: fc.Arbitrary<string>): fc.Arbitrary<Json> {
  const scalar = fc.oneof<fc.Arbitrary<Json>[]>(text, numbers, fc.boolean(), fc.constant(null));
  return fc.oneof(
    { weight: 4, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(fc.oneof(scalar, fc.array(scalar, { maxLength: 3 })), { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.dictionary(identifier, scalar, { maxKeys: 3, noNullPrototype: true }) },
  );
}

/** Arguments of a call. */
export function callArguments(text: fc.Arbitrary<string>): fc.Arbitrary<JsonObject> {
  return fc.dictionary(identifier, argument(text), { maxKeys: 4, noNullPrototype: true });
}

export const toolName: fc.Arbitrary<string> = fc.constantFrom('read_file', 'get_weather', 'run_shell', 'calc');

/** The agent's own format: an answer, a call or a plan. */
export function envelope(text: fc.Arbitrary<string>): fc.Arbitrary<JsonObject> {
  const options = { noNullPrototype: true };
  const answer = fc.record({ thought: text, answer: text.map((t) => `A: ${t}`) }, options);
  const call = fc.record({ thought: text, goal: text, tool: toolName, tool_args: callArguments(text) }, options);
  const step = fc.record({ tool: toolName, tool_args: callArguments(text) }, options);
  const plan = fc.record({ thought: text, plan: fc.array(step, { minLength: 1, maxLength: 3 }) }, options);
  return fc.oneof<fc.Arbitrary<JsonObject>[]>(answer, call, plan);
}

/** Any JSON value whatever, with keys such as `__proto__`, and texts with half characters. */
export const anyJson: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), trickyText, fc.constant('\ud800'));
  const key = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'toString', ''), fc.string({ maxLength: 8 }));
  return {
    value: fc.oneof(
      { maxDepth: 5 },
      text,
      fc.constant(null),
      fc.boolean(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((entries) => fromEntries(entries)),
    ),
  };
}).value;

/** Entries as JSON has them: `__proto__` is a key like any other. */
function fromEntries(entries: readonly (readonly [string, Json])[]): Json {
  const unique = new Map(entries);
  const body = [...unique].map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
  return JSON.parse(`{${body.join(',')}}`);
}

const SOUP = [
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  '"',
  "'",
  '`',
  '```',
  '```json\n',
  ',',
  ':',
  '=',
  '=>',
  '\\',
  '\\"',
  '\n',
  ' ',
  '...',
  '“',
  '”',
  '「',
  '：',
  '//',
  '/*',
  '*/',
  '#',
  'true',
  'None',
  'null',
  '1',
  '-',
  '1e',
  '05',
  'a',
  'thought',
  '"thought"',
  '"tool"',
  '"tool_args"',
  '"answer"',
  '"plan"',
  '"name"',
  'read_file',
  '<think>',
  '</think>',
  '<tool_call>',
  '</tool_call>',
  '<function=read_file>',
  '<parameter=a>',
  '</parameter>',
  '<arg_key>',
  '</arg_key>',
  '<arg_value>',
  '[TOOL_CALLS]',
  '<|python_tag|>',
  '<|channel|>',
  '<|message|>',
  '<|im_start|>',
  '<|im_end|>',
  '<invoke name="read_file">',
  '<|tool_call_begin|>',
  'functions.read_file:0',
  '<|tool_call_argument_begin|>',
  'tool▁sep',
  'Action:',
  'Action Input:',
  'read_file(',
  'a=',
  'C:\\new',
  '\ud800',
  '\u0000',
  '\ufeff',
  '__proto__',
  '"__proto__"',
  '"""',
  '> ',
  '+',
  '<',
  '>',
];

/** Pieces of every syntax that the parser knows, in any order. */
export const tokenSoup: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...SOUP), { maxLength: 40 })
  .map((pieces) => pieces.join(''));

const PROSE = [
  'Paris is the capital of France.',
  'It is 21 degrees (70 F) today!',
  'See [1] and [2, 3] for details.',
  'Use {name} as a placeholder.',
  'Call read_file to read it.',
  "I can't do that, Dave.",
  'The tool "read_file" is not needed here.',
  '1. First item\n2. Second item',
  '- a bullet: with a colon',
  '| a | b |\n|---|---|\n| 1 | 2 |',
  'f(x) = x^2 + 1',
  '$\\frac{a}{b}$ and \\textbf{bold}',
  'function add(a, b) { return a + b; }',
  'e.g. `x = {1, 2}`',
  'Thought: none. Action is not needed.',
  'C:\\Users\\bob',
  '**Answer**: yes',
  '"To be or not to be"',
  'a < b and b > c',
  '😀 日本語。',
  'Is it true? No, false.',
  'body { color: red; }',
  '[citation needed]',
  '{...}',
];

/** Conversation that asks for no tool. */
export const prose: fc.Arbitrary<string> = fc
  .array(fc.tuple(fc.constantFrom(...PROSE), fc.constantFrom(' ', '\n', '\n\n')), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.map(([text, space]) => text + space).join(''));
