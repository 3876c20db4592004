import type { JsonObject } from '../../src/json/json.ts';
import { type Writer, WRITERS } from './dialects.ts';

/** An answer that shows a call and makes none. */
export interface Quote {
  readonly title: string;
  readonly text: string;
  /** What the user must see; null: the text holds turns of somebody else, which may be dropped. */
  readonly answer: string | null;
}

interface Shown {
  readonly call: string;
  readonly other: string;
}

type Context = readonly [title: string, show: (shown: Shown) => string];

const oneLine = (text: string): string => text.replaceAll('\n', ' ');
const lines = (text: string, mark: string): string =>
  text
    .split('\n')
    .map((line) => mark + line)
    .join('\n');

/** The places where people and models show a call that they do not make. */
const CONTEXTS: readonly Context[] = [
  ['in a running sentence', ({ call }) => `In that format you would write ${oneLine(call)} to clear the notes.`],
  ['at the end of a sentence', ({ call }) => `What a model of that family writes looks like ${oneLine(call)}`],
  ['as a warning', ({ call }) => `Never send ${oneLine(call)} without asking me, because it cannot be undone.`],
  ['in quotation marks', ({ call }) => `The log of yesterday says “${oneLine(call)}” and then nothing else.`],
  ['in brackets', ({ call }) => `The old syntax (${oneLine(call)}) was given up last year.`],
  ['as inline code', ({ call }) => `The line \`${oneLine(call)}\` is what the server expects.`],
  ['in a block quote', ({ call }) => `The manual says:\n\n${lines(call, '> ')}\n\nThat is all it says about it.`],
  [
    'in a table',
    ({ call, other }) =>
      `| format | example |\n| --- | --- |\n| first | ${oneLine(call)} |\n| second | ${oneLine(other)} |\n\nBoth are old.`,
  ],
  [
    'in // comments',
    ({ call }) => `The file begins like this:\n${lines(call, '// ')}\nconst ready = true;\nThe rest is code.`,
  ],
  ['in # comments', ({ call }) => `The file begins like this:\n${lines(call, '# ')}\nready = True\nThe rest is code.`],
  ['in an HTML comment', ({ call }) => `The page holds a remark.\n<!-- ${call} -->\nNobody sees it.`],
  [
    'in a block comment',
    ({ call }) => `The function has a remark.\n/*\n${call}\n*/\nfunction clear() {}\nNothing calls it.`,
  ],
  [
    'as a bullet',
    ({ call }) => `Two things are possible:\n- do nothing at all\n- ${oneLine(call)}\nWhich one do you like?`,
  ],
  [
    'as a numbered item',
    ({ call }) => `The steps were:\n1. Look at the notes.\n2. ${oneLine(call)}\n3. Tell the user.\nThey are done.`,
  ],
  [
    'as indented code',
    ({ call }) => `The example of the documentation:\n\n${lines(call, '    ')}\n\nIt is out of date.`,
  ],
  [
    'inside a program',
    ({ call }) =>
      `A test of it:\n\`\`\`python\nreply = """\n${call}\n"""\nassert parse(reply) is not None\n\`\`\`\nIt passes.`,
  ],
  [
    'as one of two examples',
    ({ call, other }) =>
      `There are two ways. The first:\n\n${call}\n\nAnd the second:\n\n${other}\n\nChoose one of them.`,
  ],
  [
    'as one of two code blocks',
    ({ call, other }) => `Either\n\`\`\`\n${call}\n\`\`\`\nor\n\`\`\`\n${other}\n\`\`\`\nis accepted by the server.`,
  ],
  [
    'in a made-up turn of the user',
    ({ call }) => `Nothing is left to do.\n\nUser: ${call}\nAssistant: I will not do that.`,
  ],
  [
    'as a made-up observation',
    ({ call }) => `Nothing is left to do.\nObservation: ${oneLine(call)}\nThat is what it said.`,
  ],
  [
    'in a made-up result',
    ({ call }) => `The page says:\n<tool_response>\n${call}\n</tool_response>\nI do not follow it.`,
  ],
];

/** Turns that the model makes up in the tokens of its template; these tokens may be cut off with what follows. */
const TURNS: readonly Context[] = [
  [
    'in a made-up turn',
    ({ call }) => `Nothing is left to do.<|im_end|>\n<|im_start|>user\n${call}<|im_end|>\n<|im_start|>assistant\nNo.`,
  ],
];

const PAYLOADS: readonly JsonObject[] = [
  { text: 'everything' },
  { text: 'all "old" notes', count: 3 },
  { text: 'the first line\nand the second', flag: true },
];

function shownBy(writer: Writer, n: number): Shown {
  const [payload = {}, other = {}] = [PAYLOADS[n % PAYLOADS.length], PAYLOADS[(n + 1) % PAYLOADS.length]];
  return { call: writer.write('wipe', payload).text, other: writer.write('wipe', other).text };
}

const shownIn = (contexts: readonly Context[], keeps: boolean): readonly Quote[] =>
  contexts.flatMap(([title, show], at) =>
    WRITERS.map((writer, n) => {
      const text = show(shownBy(writer, n + at));
      return { title: `${writer.name} ${title}`, text, answer: keeps ? text : null };
    }),
  );

/** An answer in the envelope that shows a call: its `answer` is the answer. */
const IN_ANSWERS: readonly Quote[] = WRITERS.map((writer, n) => {
  const answer = `It looks so:\n${shownBy(writer, n).call}\nDo you want it?`;
  return { title: `${writer.name} in an answer`, text: JSON.stringify({ thought: 'I explain it.', answer }), answer };
});

const DEFINITION = {
  name: 'wipe',
  description: 'Removes notes.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: [] },
};

/** Tools as they are described to models: these objects have a name and parameters, too. */
const DEFINITIONS: readonly Quote[] = [
  JSON.stringify(DEFINITION),
  JSON.stringify([DEFINITION]),
  JSON.stringify(DEFINITION, null, 2),
  JSON.stringify({ type: 'function', function: DEFINITION }),
  JSON.stringify([{ type: 'function', function: DEFINITION }]),
  `<tools>\n${JSON.stringify(DEFINITION)}\n</tools>\nThese are the tools that I have.`,
  `I have one tool:\n\`\`\`json\n${JSON.stringify(DEFINITION, null, 2)}\n\`\`\`\nIt removes notes.`,
  `The definition is ${JSON.stringify(DEFINITION)} and nothing more.`,
  `# Tools\n${JSON.stringify({ type: 'function', function: DEFINITION })}`,
].map((text, n) => ({ title: `definition ${n}`, text, answer: text }));

/** Answers that show, quote, document or define calls, in every form and every place. */
export const QUOTES: readonly Quote[] = [
  ...shownIn(CONTEXTS, true),
  ...shownIn(TURNS, false),
  ...IN_ANSWERS,
  ...DEFINITIONS,
];

/** Places in prose: a lenient reading takes calls from them. */
const PROSE = new Set([
  'in a running sentence',
  'at the end of a sentence',
  'as a warning',
  'in brackets',
  'as one of two examples',
  'inside a program',
  'as one of two code blocks',
]);

/** Quoted calls that are none in any mode, the lenient one included. */
export const TALK: readonly Quote[] = [
  ...shownIn(
    CONTEXTS.filter(([title]) => !PROSE.has(title)),
    true,
  ),
  ...shownIn(TURNS, false),
  ...IN_ANSWERS,
  ...DEFINITIONS,
];

const FENCED = new Set(['inside a program', 'as one of two code blocks']);

/** Quoted calls outside of fences: no share of these is tolerated where several stand together. */
export const UNFENCED: readonly Quote[] = shownIn(
  CONTEXTS.filter(([title]) => !FENCED.has(title)),
  true,
);
