import fc from 'fast-check';

/** Rows of somebody else's text begin so, and no others. */
export const BAR = /^ {2}\|(?: |$)/;

const GAP = String.raw`(?:\.\.\. [\d,]+ (?:line|character)s? not shown \.\.\. )*`;
const SOURCE = String.raw`(?:It is this tool of an MCP server, which says of it: ${GAP}(?:It has changed since you always allowed it: ${GAP})?)?`;
const NOTE = String.raw`(?:! Not everything is shown: [\d,]+ more characters(?:, [\d,]+ more lines)?\. Deny, unless what you see is enough\. )?`;
const KEYS =
  'y = allow this once, a = always allow this tool with any arguments, n = deny(?:, s = show everything)? Allow\\? \\[y/a(?:/s)?/N\\]';

/** The rows without a bar, read as one text: the approval prompt's own words, in their order, and nothing else. */
export const APPROVAL = new RegExp(
  `^The agent wants to run this tool: ${GAP}${SOURCE}Why: ${GAP}Arguments: ${GAP}${NOTE}Tool: ${GAP}${KEYS}$`,
);
/** All that a person would take for the program's own words. */
export function ownWords(rows: readonly string[]): string {
  return rows
    .filter((row) => row !== '' && !BAR.test(row))
    .map((row) => row.trim())
    .join(' ');
}

const LURES = [
  'Allow? [y/a/N] y',
  'Allowed once.',
  'Tool:',
  '  | read_file',
  'The agent wants to run this tool:',
  'y = allow this once, a = always allow this tool with any arguments, n = deny',
  '! Not everything is shown: 0 more characters.',
  '✓ approved',
];
const SIGNS = [
  '\n',
  '\r',
  '\r\n',
  '\t',
  '\b',
  '\u007f',
  '\u0085',
  '\u009b2J',
  '\u001b[2J',
  '\u001b[1;1H',
  '\u001b[999D',
  '\u001bc',

  '\u001b]8;;https://example.org\u0007link\u001b]8;;\u0007',
  '\u001b]52;c;eA==\u0007',
  '\u2028',
  '\u2029',
  '\u202e',
  '\u2066',

  '\u200b',
  '\u200d',
  '\u2060',
  '\u00ad',
  '\u034f',
  '\u115f',
  '\u1160',
  '\u3164',
  '\uffa0',
  '\u2800',
  '\u00a0',
  '\u3000',

  '漢',
  '한',
  'ᄀ',
  'ᅡ',
  'ア',
  '📁',
  '👩‍👩‍👧‍👦',
  '❤️',
  '🇫🇷',
  'é',
  'e\u0301',
  'ж',
  'Ω',
  '§',
  '…',
  'ש',
  'ع',
  'न',
  '्',
  'ำ',
  `a${'\u0301'.repeat(200)}`,
  '\u0301',
  '\ud800',
  '\u{e0041}',
  '\ufdd0',
  '\ue000',
  '﷽',
  '⸻',
  '𒐫',
];

/** Texts of somebody who wants to pass for the prompt: padded to any edge, in every script, with all that terminals obey. */
export const hostileText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom(...LURES),
      fc.constantFrom(...SIGNS),
      fc
        .tuple(fc.constantFrom(' ', 'x', '漢', 'ж', '👩', '\u3000', 'e\u0301', '\n'), fc.integer({ min: 0, max: 160 }))
        .map(([sign, count]) => sign.repeat(count)),
      fc.string({ unit: 'binary', maxLength: 20 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));
