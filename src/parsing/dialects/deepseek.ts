import type { Dialect } from './dialect.ts';
import type { DialectSource } from './dialect-source.ts';
import { type NamedMarks, readNamedBlocks } from './named-block.ts';

/**
 * DeepSeek V3: `<｜tool▁call▁begin｜>function<｜tool▁sep｜>name` + fenced JSON; V3.1: `…begin｜>name<｜tool▁sep｜>{…}`.
 * The bars and blocks of the tokens also come as ASCII.
 */
export const deepseek: Dialect = {
  name: 'deepseek',
  markers: ['tool▁sep', 'tool_sep'],
  read: (source) => readNamedBlocks(source, marksOf(source)),
};

function marksOf(source: DialectSource): NamedMarks {
  const tokens = (name: string): readonly string[] => [
    `<｜${name.replaceAll(' ', '▁')}｜>`,
    `<｜${name.replaceAll(' ', '_')}｜>`,
    `<|${name.replaceAll(' ', '▁')}|>`,
    `<|${name.replaceAll(' ', '_')}|>`,
  ];
  const old = /<[｜|]tool[▁_]call[▁_]begin[｜|]>\s*function\s*<[｜|]tool[▁_]sep[｜|]>\s*[^<\s]/.test(source.text);
  return {
    open: tokens('tool call begin'),
    separators: old ? ['\n'] : tokens('tool sep'),
    close: tokens('tool call end'),
    head: (text) => ({ name: text.replace(/^function\s*<[｜|]tool[▁_]sep[｜|]>/, '').trim() }),
  };
}
