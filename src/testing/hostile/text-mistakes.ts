import { garbling, losing } from './mistake.ts';
import type { SaidCall } from './said.ts';
import { asksForTool, inJson } from './said.ts';

/** How open models write calls when nobody asks them to. */
const DIALECTS: readonly [(call: SaidCall) => string, ...((call: SaidCall) => string)[]] = [
  ({ name, args }) => `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`,
  ({ name, args }) => `[TOOL_CALLS] [{"name": "${name}", "arguments": ${args}}]`,
  ({ name, args }) => `<|python_tag|>{"name": "${name}", "parameters": ${args}}`,
  ({ name, args }) => `<function=${name}>${args}</function>`,
];

const fence = '```';

/** Mistakes in the text around what is meant. */
export const TEXT_MISTAKES = {
  fences: garbling(({ said }) => inJson(said, (text) => `${fence}json\n${text}\n${fence}`)),

  'prose-around': garbling(({ said }) =>
    asksForTool(said) ? { ...said, content: `Sure! I will do that now.\n\n${said.content}\n\nLet me know!` } : null,
  ),

  thinking: garbling(({ said, random }) => {
    const end = random.chance(0.7) || said.calls.length === 0 ? '</think>' : '';
    return { ...said, content: `<think>The user wants {"tool": "something"}. Hm.${end}\n${said.content}` };
  }),

  dialect: garbling(({ said, random }) => {
    if (said.calls.length === 0) return null;
    const write = random.pick(DIALECTS);
    return { ...said, calls: [], content: [said.content, ...said.calls.map(write)].join('\n').trim() };
  }),

  'native-and-text': garbling(({ said, random }) => {
    const [first] = said.calls;
    if (first === undefined) return null;
    const text = random.chance(0.5)
      ? `{"tool": "${first.name}", "tool_args": ${first.args}}`
      : random.pick(DIALECTS)(first);
    return { ...said, content: text };
  }),

  'early-answer': garbling(({ said }) => {
    if (!asksForTool(said)) return null;
    if (said.calls.length > 0) return { ...said, content: '{"thought": "Easy.", "answer": "It is done."}' };
    return inJson(said, (text) => text.replace(/\}\s*$/, ', "answer": "It is done."}'));
  }),

  empty: losing(({ said, random }) => ({ ...said, calls: [], content: random.pick(['', ' \n']) })),

  'blank-json': losing(({ said, random }) => ({ ...said, calls: [], content: random.pick(['{}', 'null', '[]']) })),
} as const;
