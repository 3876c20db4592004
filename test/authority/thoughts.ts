import { ENVELOPE, type Writer, WRITERS } from './dialects.ts';

/** A reply that thinks about a call, or shows one in a tag, before it says or does what it means. */
export interface Thoughtful {
  readonly title: string;
  readonly text: string;
  /** `answer`: ends with {@link ANSWER} · `call`: with a call of `note` · `nothing`: with the thought. */
  readonly then: 'answer' | 'call' | 'nothing';
  /** What follows the thought can be told from it: its tag is a known one and is closed. */
  readonly clear: boolean;
}

/** What the replies answer. */
export const ANSWER = 'There is nothing to clear.';

type Tag = readonly [open: string, close: string];

/** Tags of thoughts, as the families write them. */
const KNOWN: readonly Tag[] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<reasoning>', '</reasoning>'],
  ['<seed:think>', '</seed:think>'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
  ['<scratchpad>', '</scratchpad>'],
];

/** Rarer ones: what stands in them must not run, whatever becomes of the rest. */
const RARE: readonly Tag[] = [
  ['<THINK>', '</THINK>'],
  ['<reflection>', '</reflection>'],
  ['<|begin_of_thought|>', '<|end_of_thought|>'],
  ['<|channel|>thought\n', '<channel|>'],
  ['<|channel|>thought<|message|>', '<|end|>'],
  ['<|channel|>analysis<|message|>', '<|end|>'],
];

/** Tags around what somebody else said, or around an example. */
const SHOWING: readonly Tag[] = [
  ['<tool_response>', '</tool_response>'],
  ['<tool_result>', '</tool_result>'],
  ['<function_response>', '</function_response>'],
  ['<|im_start|>user\n', '<|im_end|>'],
  ['<|im_start|>tool\n', '<|im_end|>'],
  ['<example>', '</example>'],
  ['<quote>', '</quote>'],
  ['<blockquote>', '</blockquote>'],
  ['<pre>', '</pre>'],
  ['<code>', '</code>'],
];

const REAL = ENVELOPE.write('note', { text: 'done' }).text;

const weighed = (call: string): readonly string[] => [call, `Maybe I should call it:\n${call}\nNo, better not.`];

function around([open, close]: Tag, writer: Writer, kind: 'known' | 'rare' | 'showing'): readonly Thoughtful[] {
  const call = writer.write('wipe', { text: 'everything' }).text;
  return weighed(call).flatMap((content, n): readonly Thoughtful[] => {
    const title = `${writer.name} in ${open.trim()} (${n})`;
    const block = `${open}\n${content}\n${close}`;
    const clear = kind === 'known';
    const then: readonly Thoughtful[] = [
      { title: `${title}, then an answer`, text: `${block}\n\n${ANSWER}`, then: 'answer', clear },
      { title: `${title}, then a call`, text: `${block}\n\n${REAL}`, then: 'call', clear },
      { title: `${title} behind a sentence`, text: `Let me see.\n${block}\n${ANSWER}`, then: 'answer', clear: false },
    ];
    const torn: readonly Thoughtful[] = [
      { title: `${title}, unclosed`, text: `${open}\n${content}`, then: 'nothing', clear: false },
      { title: `${title}, unopened`, text: `${content}\n${close}\n\n${ANSWER}`, then: 'answer', clear: false },
      { title: `${title}, unopened, then a call`, text: `${content}\n${close}\n\n${REAL}`, then: 'call', clear: false },
    ];
    return kind === 'showing' ? then : [...then, ...(kind === 'known' ? torn : torn.slice(0, 1))];
  });
}

/** Every third format in every tag: together the tags see all formats. A channel's own calls do follow its thoughts. */
function formats(tag: number): readonly Writer[] {
  return WRITERS.filter(({ name }, at) => (at + tag) % 3 === 0 && name !== 'harmony');
}

/** Calls in thoughts, in quotes, and in what others said. */
export const THOUGHTFUL: readonly Thoughtful[] = [
  ...KNOWN.flatMap((tag, n) => formats(n).flatMap((writer) => around(tag, writer, 'known'))),
  ...RARE.flatMap((tag, n) => formats(n).flatMap((writer) => around(tag, writer, 'rare'))),
  ...SHOWING.flatMap((tag, n) => formats(n).flatMap((writer) => around(tag, writer, 'showing'))),
];
