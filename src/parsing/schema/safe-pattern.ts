/** Patterns are compiled once; a schema has few of them. */
const compiled = new Map<string, Pattern>();
const MOST_PATTERNS = 500;

interface Pattern {
  readonly regex: RegExp | undefined;
  /** The longest text on which the expression surely ends in time. */
  readonly maxLength: number;
}

/**
 * True when the text matches the pattern of a schema. Patterns that are invalid, or that could run forever on this text,
 * are not applied: they count as matched, because a model cannot correct a schema's mistakes.
 */
export function matchesPattern(source: string, text: string): boolean {
  const { regex, maxLength } = compile(source);
  if (regex === undefined || text.length > maxLength) return true;
  return regex.test(text);
}

function compile(source: string): Pattern {
  const known = compiled.get(source);
  if (known !== undefined) return known;
  const pattern = analyse(source);
  if (compiled.size >= MOST_PATTERNS) compiled.clear();
  compiled.set(source, pattern);
  return pattern;
}

function analyse(source: string): Pattern {
  const regex = toRegExp(source);
  if (regex === undefined || source.length > 2_000) return { regex: undefined, maxLength: 0 };
  const { unbounded, nested } = countQuantifiers(source);
  if (nested) return { regex, maxLength: 20 };
  const degree = unbounded + (source.startsWith('^') ? 0 : 1);
  return { regex, maxLength: degree <= 1 ? 1_000_000 : degree === 2 ? 5_000 : degree === 3 ? 300 : 60 };
}

function toRegExp(source: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags);
    } catch {
      // An expression of another dialect may still be one without the flag.
    }
  }
  return undefined;
}

/** Counts `*`, `+` and `{n,}`, and says whether one stands inside a group that is itself repeated. */
function countQuantifiers(source: string): { readonly unbounded: number; readonly nested: boolean } {
  const groups: boolean[] = [];
  let unbounded = 0;
  let nested = /\\[1-9]|\\k</.test(source);
  let current = false;
  for (let i = 0; i < source.length; i += 1) {
    const char = source[i];
    if (char === '\\') i += 1;
    else if (char === '[') i = classEnd(source, i);
    else if (char === '(') {
      groups.push(current);
      current = false;
    } else if (char === ')') {
      const repeated = isRepeated(source, i + 1);
      const inside: boolean = current;
      if (repeated && inside) nested = true;
      current = (groups.pop() ?? false) || inside;
    } else if (char === '|') current = current || groups.length > 0;
    else if (isUnbounded(source, i)) {
      unbounded += 1;
      current = true;
    }
  }
  return { unbounded, nested };
}

function classEnd(source: string, at: number): number {
  let i = at + 1;
  if (source[i] === '^') i += 1;
  if (source[i] === ']') i += 1;
  while (i < source.length && source[i] !== ']') i += source[i] === '\\' ? 2 : 1;
  return i;
}

function isUnbounded(source: string, at: number): boolean {
  const char = source[at];
  return char === '*' || char === '+' || (char === '{' && /^\{\d+,(?:\d{3,})?\}/.test(source.slice(at, at + 20)));
}

function isRepeated(source: string, at: number): boolean {
  return isUnbounded(source, at) || /^\{\d*[2-9]\d*|^\{\d{2}/.test(source.slice(at, at + 8));
}
