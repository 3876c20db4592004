/** Where a JSON text goes wrong: line and column count from 1, `problem` says what was met there. */
export interface JsonPosition {
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

const STRING = /"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
const SPACE = /[ \t\r\n]*/y;

type Expecting = 'value' | 'first-item' | 'first-key' | 'key' | 'colon' | 'comma' | 'end';

/**
 * Finds the first place where a text stops being JSON; null where it is JSON. The parser of the language tells this only
 * in the words of its error, which differ from engine to engine.
 */
export function findJsonError(text: string): JsonPosition | null {
  const open: ('{' | '[')[] = [];
  let at = text.startsWith('\ufeff') ? 1 : 0;
  let expecting: Expecting = 'value';
  for (;;) {
    at += lengthAt(SPACE, text, at);
    if (at === text.length) return expecting === 'end' ? null : locate(text, at, 'the text ends too early');
    const step = advance(text, at, expecting, open);
    if (step === null)
      return locate(text, at, `unexpected ${JSON.stringify(text[at])}, expected ${describe(expecting, open)}`);
    [at, expecting] = step;
  }
}

function advance(text: string, at: number, expecting: Expecting, open: ('{' | '[')[]): [number, Expecting] | null {
  const char = text[at];
  const afterValue = (): Expecting => (open.length === 0 ? 'end' : 'comma');
  if (expecting === 'colon') return char === ':' ? [at + 1, 'value'] : null;
  if (expecting === 'comma' && char === ',') return [at + 1, open.at(-1) === '{' ? 'key' : 'value'];
  if (expecting === 'comma' || expecting === 'first-item' || expecting === 'first-key') {
    if (char === (open.at(-1) === '{' ? '}' : ']')) {
      open.pop();
      return [at + 1, afterValue()];
    }
    if (expecting === 'comma') return null;
  }
  if (expecting === 'key' || expecting === 'first-key') {
    const length = lengthAt(STRING, text, at);
    return length === 0 ? null : [at + length, 'colon'];
  }
  if (expecting === 'end') return null;
  if (char === '{' || char === '[') {
    open.push(char);
    return [at + 1, char === '{' ? 'first-key' : 'first-item'];
  }
  const length = lengthAt(STRING, text, at) || lengthAt(SCALAR, text, at);
  return length === 0 ? null : [at + length, afterValue()];
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  const found = pattern.exec(text)?.[0] ?? '';
  // JSON allows no control character inside a string, a line break included.
  return pattern === STRING && Array.from(found).some((char) => char < ' ') ? 0 : found.length;
}

function describe(expecting: Expecting, open: readonly ('{' | '[')[]): string {
  switch (expecting) {
    case 'value':
      return 'a value';
    case 'first-item':
      return 'a value or ]';
    case 'first-key':
      return 'a key in double quotes or }';
    case 'key':
      return 'a key in double quotes';
    case 'colon':
      return 'a colon';
    case 'comma':
      return `a comma or ${open.at(-1) === '{' ? '}' : ']'}`;
    case 'end':
      return 'the end';
  }
}

function locate(text: string, at: number, problem: string): JsonPosition {
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - (before.lastIndexOf('\n') + 1) + 1, problem };
}
