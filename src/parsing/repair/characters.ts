/** The character codes that the parsers name. */
export const CODE = {
  tab: 9,
  newline: 10,
  return: 13,
  space: 32,
  doubleQuote: 34,
  hash: 35,
  singleQuote: 39,
  openParen: 40,
  closeParen: 41,
  star: 42,
  plus: 43,
  comma: 44,
  minus: 45,
  dot: 46,
  slash: 47,
  colon: 58,
  semicolon: 59,
  less: 60,
  equals: 61,
  greater: 62,
  openBracket: 91,
  backslash: 92,
  closeBracket: 93,
  underscore: 95,
  backtick: 96,
  openBrace: 123,
  closeBrace: 125,
} as const;

/** White space as models write it: JSON's four, all Unicode spaces, zero-width marks and the byte order mark. */
export function isSpace(code: number): boolean {
  if (code <= 32) return code === 32 || (code >= 9 && code <= 13);
  if (code < 0xa0) return code === 0x85;
  return (
    code === 0xa0 ||
    code === 0x1680 ||
    code === 0x180e ||
    (code >= 0x2000 && code <= 0x200d) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x2060 ||
    code === 0x3000 ||
    code === 0xfeff
  );
}

/** A digit 0 to 9. */
export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** A letter of any script, a digit, `_` or `$`: what names are made of. */
export function isWordCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    isDigit(code) ||
    code === CODE.underscore ||
    code === 36 ||
    (code > 0xa0 && !isSpace(code) && quoteClosers(code) === '' && !isFullWidth(code))
  );
}

/** The colon of JSON or its full-width form. */
export function isColon(code: number): boolean {
  return code === CODE.colon || code === 0xff1a;
}

/** The comma of JSON or one of its full-width forms. */
export function isComma(code: number): boolean {
  return code === CODE.comma || code === 0xff0c || code === 0x3001;
}

function isFullWidth(code: number): boolean {
  return code === 0xff1a || code === 0xff0c || code === 0x3001 || code === 0x2026;
}

/** All characters that may close a string opened by this one; the empty text when it opens none. */
export function quoteClosers(code: number): string {
  switch (code) {
    case CODE.doubleQuote:
      return '"';
    case CODE.singleQuote:
      return "'";
    case 0x201c:
    case 0x201d:
    case 0x201e:
    case 0x201f:
      return '“”„‟"';
    case 0x2018:
    case 0x2019:
    case 0x201a:
    case 0x201b:
      return "‘’‚‛'";
    case 0xab:
      return '»';
    default:
      return '';
  }
}

/** True for a character that opens a string. */
export function isQuote(code: number): boolean {
  return code === CODE.doubleQuote || code === CODE.singleQuote || (code >= 0xab && quoteClosers(code) !== '');
}
