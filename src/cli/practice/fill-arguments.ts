import { isJsonObject, type Json, type JsonObject } from '../../json/json.ts';
import type { PromptTool } from '../../testing/tools-in-prompt.ts';
import type { Scene } from './scene.ts';

/** What a question gives for a tool: its arguments, or the required ones that are nowhere in it. */
type Filled =
  | { readonly ok: true; readonly args: JsonObject }
  | { readonly ok: false; readonly missing: readonly string[] };

/** Fills a tool's arguments with values of the right kind from a question. Nothing is made up. */
export function fillArguments({ schema }: PromptTool, question: string): Filled {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const values = createSupply(findValues(question));
  const args: Record<string, Json> = {};
  const missing: string[] = [];
  const inOrder = Object.entries(properties).toSorted(
    ([a], [b]) => Number(required.includes(b)) - Number(required.includes(a)),
  );
  for (const [name, property] of inOrder) {
    const isRequired = required.includes(name);
    const value = isJsonObject(property) ? valueFor({ name, property, isRequired, question, values }) : undefined;
    if (value !== undefined) args[name] = value;
    else if (isRequired) missing.push(name);
  }
  return missing.length > 0 ? { ok: false, missing } : { ok: true, args };
}

interface Place {
  readonly name: string;
  readonly property: JsonObject;
  readonly isRequired: boolean;
  readonly question: string;
  readonly values: Supply;
}

function valueFor(place: Place): Json | undefined {
  const { property, isRequired, question, values } = place;
  const members = Array.isArray(property['enum']) ? property['enum'] : undefined;
  if (members !== undefined) return mentionedMember(members, question);
  // Optional arguments are given only if the question mentions them.
  if (!isRequired && !isMentioned(place)) return undefined;
  switch (property['type']) {
    case 'number':
      return values.takeNumber();
    case 'integer':
      return values.takeNumber(Number.isInteger);
    case 'boolean':
      return isMentioned(place) ? true : undefined;
    case 'array': {
      const all = [...values.rest('quoted'), ...values.rest('paths'), ...values.rest('names')];
      return all.length === 0 ? undefined : all;
    }
    case 'object':
      return undefined;
    default:
      return textFor(place);
  }
}

/** The kinds of text that a name asks for, the likeliest source first. */
const KINDS: readonly (readonly [RegExp, readonly (keyof FoundValues)[]])[] = [
  [/path|file|dir|folder|source|destination/i, ['paths', 'quoted']],
  [/ur[il]|link|website/i, ['urls', 'quoted']],
  [/mail/i, ['emails', 'quoted']],
  [/date|day|when|since|until/i, ['dates', 'quoted']],
  [/expr|formula|calculation|equation/i, ['expression', 'quoted']],
  [/quer|text|content|message|input|question|prompt|task|body|title|term|search|subject|note|comment/i, ['quoted']],
];

const WHOLE_QUESTION = /quer|input|question|prompt|task|search|request/i;

function textFor({ name, question, values }: Place): string | undefined {
  const sources = KINDS.find(([kind]) => kind.test(name))?.[1] ?? ['quoted', 'names', 'paths'];
  for (const source of sources) {
    const found = values.takeText(source);
    if (found !== undefined) return found;
  }
  return wordAfter(name, question) ?? (WHOLE_QUESTION.test(name) ? question : undefined);
}

function mentionedMember(members: readonly Json[], question: string): Json | undefined {
  const said = new Set(splitWords(question).map(stem));
  return members.find(
    (member) => typeof member === 'string' && splitWords(member).every((word) => said.has(stem(word))),
  );
}

function isMentioned({ name, question }: Place): boolean {
  const said = new Set(splitWords(question).map(stem));
  return splitWords(name).some((word) => said.has(stem(word)));
}

/** `42` in `order id 42`, for the argument `id` or `order_id`. */
function wordAfter(name: string, question: string): string | undefined {
  const last = splitWords(name).at(-1) ?? name;
  const after = new RegExp(`\\b${last}\\s*(?:=|:|is|named|called)?\\s+([\\w@./-]*\\w)`, 'i').exec(question);
  return after?.[1];
}

/** The values of a question; each is given out once. */
type Supply = ReturnType<typeof createSupply>;

function createSupply(values: FoundValues) {
  const taken = new Set<unknown>();
  const next = <T>(list: readonly T[], kind: string, fits: (value: T) => boolean = () => true): T | undefined => {
    const at = list.findIndex((value, index) => !taken.has(`${kind} ${String(index)}`) && fits(value));
    taken.add(`${kind} ${String(at)}`);
    return list[at];
  };
  return {
    takeNumber: (fits?: (value: number) => boolean): number | undefined => next(values.numbers, 'numbers', fits),
    takeText(kind: keyof FoundValues): string | undefined {
      const list = values[kind];
      if (typeof list === 'string' || list === undefined) return list;
      const value = next<string | number>(list, kind);
      return value === undefined ? undefined : String(value);
    },
    rest: (kind: 'quoted' | 'paths' | 'names'): readonly string[] =>
      values[kind].filter((_value, at) => !taken.has(`${kind} ${String(at)}`)),
  };
}

/** The values in a question, each kind in order of appearance. */
interface FoundValues {
  readonly quoted: readonly string[];
  readonly paths: readonly string[];
  readonly numbers: readonly number[];
  readonly urls: readonly string[];
  readonly emails: readonly string[];
  readonly dates: readonly string[];
  /** Names: capitalised words, together where they stand together, the first word of a sentence aside. */
  readonly names: readonly string[];
  readonly expression: string | undefined;
}

const QUOTED = /"([^"]+)"|“([^”]+)”|`([^`]+)`|(?<![\p{L}\d])'([^']+)'(?![\p{L}\d])/gu;
const URLS = /https?:\/\/[^\s"'<>)]+[^\s"'<>).,;!?]/g;
const EMAILS = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const DATES = /\b\d{4}-\d{2}-\d{2}\b/g;
const PATHS =
  /(?<![\w/.])(?:[A-Za-z]:\\|~?\/|\.{1,2}\/)?(?:[\w.@-]+[\\/])*[\w@-][\w.@-]*\.[A-Za-z]\w{0,9}\b|(?<!\w)(?:[A-Za-z]:\\|~?\/|\.{1,2}\/)[\w.@/\\-]+|(?<!\w)[\w.@-]+\/[\w.@/-]*/g;
const NUMBERS = /(?<![\w.])-?\d+(?:\.\d+)?(?!\w|\.\d)/g;
const EXPRESSION = /[-(]?\d[\d\s.()]*(?:\s*(?:[-+*/×÷^%])\s*[-(]?\d[\d\s.()]*)+/;
const NAMES = /(?<!^)(?<![.!?:]\s)\b\p{Lu}[\p{L}\d'-]*(?:\s+(?:de\s+|of\s+the\s+)?\p{Lu}[\p{L}\d'-]*)*/gu;

/** Finds the values in a question. */
export function findValues(question: string): FoundValues {
  const quoted = [...question.matchAll(QUOTED)].map((match) => match.slice(1).find((text) => text !== undefined) ?? '');
  const bare = question.replaceAll(QUOTED, ' ');
  const urls = bare.match(URLS) ?? [];
  const emails = bare.match(EMAILS) ?? [];
  const plain = bare.replaceAll(URLS, ' ').replaceAll(EMAILS, ' ');
  const paths = (plain.match(PATHS) ?? []).map((path) => path.replace(/[.,;:!?]+$/, ''));
  const unpathed = paths.reduce((text, path) => text.replace(path, ' '), plain);
  const dates = unpathed.match(DATES) ?? [];
  const expression = EXPRESSION.exec(unpathed.replaceAll(DATES, ' '))?.[0].trim();
  return {
    quoted,
    paths,
    urls,
    emails,
    dates,
    numbers: (unpathed.replaceAll(DATES, ' ').match(NUMBERS) ?? []).map(Number),
    names: (unpathed.match(NAMES) ?? []).filter((name) => name !== 'I'),
    expression: expression?.replaceAll('×', '*').replaceAll('÷', '/'),
  };
}

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
