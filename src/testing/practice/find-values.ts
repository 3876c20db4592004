/** Values that stand in a question, each kind in the order in which they stand there. */
export interface FoundValues {
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
