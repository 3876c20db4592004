import type { Scene } from './scene.ts';
import type { PromptTool } from '../../testing/tools-in-prompt.ts';

/** Tools of the machinery that no question asks for. */
const RESERVED = new Set(['make_plan', 'escalate', 'throw_exception', 'throwException']);

/** Verbs that change something: a tool with one of them is only chosen if the question uses the verb. */
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

/** The question contains the tool's exact name. */
const BY_NAME = 1000;

/** The tool that a text most likely means, or undefined when none comes close. */
export function matchTool({ tools }: Scene, text: string): PromptTool | undefined {
  const words = new Set(meaningfulWords(text));
  const rated = tools
    .filter((tool) => !RESERVED.has(tool.name))
    .map((tool) => ({ tool, rating: rate(tool, words, text) }))
    .filter(({ rating }) => rating >= ENOUGH)
    .toSorted((a, b) => b.rating - a.rating);
  return rated[0]?.tool;
}

function rate(tool: PromptTool, words: ReadonlySet<string>, text: string): number {
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

/** Words that say nothing about which tool is meant. */
const EMPTY = new Set(
  (
    'a an and are as at be by can could do does for from get give has have how i in into is it its let me my of on or ' +
    'please shall should show some tell that the their them then there this to us use using want was what when where ' +
    'which who why will with would you your tool current all any one also just now'
  ).split(' '),
);

/** The words of a text that mean something, in lower case and without their endings. */
function meaningfulWords(text: string): readonly string[] {
  return splitWords(text)
    .filter((word) => !EMPTY.has(word))
    .map(stem);
}

/** The pieces of a text or a name: `getWeatherNow`, `get_weather_now` and `get weather now` are the same. */
export function splitWords(text: string): readonly string[] {
  return (
    text
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\d]+/gu) ?? []
  );
}

/** A word without its grammatical ending, roughly. */
export function stem(word: string): string {
  const rules = [/ies$/, /(?:ing|ed)$/, /es$/, /s$/, /e$/];
  const ending = rules.find((rule) => rule.test(word) && word.replace(rule, '').length >= 3);
  return ending === undefined ? word : word.replace(ending, ending.source === 'ies$' ? 'y' : '');
}
