import type { PracticeTool, Scene } from './scene.ts';
import { meaningfulWords, splitWords, stem } from './words.ts';

/** Tools of the machinery that no question asks for. */
const RESERVED = new Set(['make_plan', 'escalate', 'throw_exception', 'throwException']);

/** Verbs that change something: a tool with one of them is only meant when the question says it. */
const CHANGING = new Set(
  (
    'add append apply approve book buy cancel clear close copy create delete deploy edit install kill move order pay post ' +
    'publish remove rename replace reset run save send set start stop submit transfer update upload write'
  )
    .split(' ')
    .map(stem),
);

const NAME_WEIGHT = 3;
const ENOUGH = 3;

/** The question says the tool's very name. */
const BY_NAME = 1000;

/** The tool that a text most likely means, or undefined when none comes close. */
export function matchTool({ tools }: Scene, text: string): PracticeTool | undefined {
  const words = new Set(meaningfulWords(text));
  const rated = tools
    .filter((tool) => !RESERVED.has(tool.name))
    .map((tool) => ({ tool, rating: rate(tool, words, text) }))
    .filter(({ rating }) => rating >= ENOUGH)
    .toSorted((a, b) => b.rating - a.rating);
  return rated[0]?.tool;
}

function rate(tool: PracticeTool, words: ReadonlySet<string>, text: string): number {
  if (
    text
      .toLowerCase()
      .split(/[^\w.-]+/)
      .includes(tool.name.toLowerCase())
  )
    return BY_NAME;
  const name = [...new Set(splitWords(tool.name).map(stem))];
  const said = new Set(splitWords(text).map(stem));
  if (name.some((word) => CHANGING.has(word) && !said.has(word))) return 0;
  const described = new Set(meaningfulWords(tool.description));
  const inName = name.filter((word) => words.has(word)).length;
  const inDescription = [...words].filter((word) => described.has(word)).length;
  // Among equals the plainer name wins.
  return inName * NAME_WEIGHT + inDescription - name.length / 100;
}
