/** What a person is asked about. */
export interface ConfirmQuestion {
  readonly tool: string;
  readonly args: unknown;
  /** Why it is asked, in a sentence. */
  readonly reason: string;
}

const MAX_LINES = 40;
const MAX_LINE_CHARS = 400;
/** How much of what is too long is shown from its beginning; the rest from its end. */
const HEAD = 0.7;

/**
 * The question as text: tool, reason and arguments, then the answers. All that a model may have written is made inert and
 * stands behind a bar, so that nothing in it can move the cursor, hide text or pass for the question itself. Throws for
 * arguments that cannot be shown.
 */
export function questionText({ tool, args, reason }: ConfirmQuestion): string {
  const name = shorten(makeInert(tool));
  const lines = pretty(args).map((line) => shorten(makeInert(line)));
  const shown = someOf(lines.map(({ text }) => `  | ${text}`));
  const isCut = shown.length < lines.length || [name, ...lines].some((line) => line.isCut);
  return [
    '',
    `The agent wants to run the tool ${name.text}`,
    `  why: ${shorten(makeInert(reason)).text}`,
    '  arguments:',
    ...shown,
    ...(isCut ? ['  ! Not everything is shown. Deny, unless what you see is enough.'] : []),
    `y = allow this once, a = always allow ${name.text} with any arguments, n = deny`,
    'Allow? [y/a/N] ',
  ].join('\n');
}

/** Writes everything that a terminal obeys, or that turns or hides text, as its number: `\u001b`. One line stays one line. */
export function makeInert(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (sign) => {
    const hex = (sign.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
  });
}

function pretty(args: unknown): readonly string[] {
  const json: unknown = JSON.stringify(args, null, 2);
  return typeof json === 'string' ? json.split('\n') : ['none'];
}

function shorten(text: string): { readonly text: string; readonly isCut: boolean } {
  if (text.length <= MAX_LINE_CHARS) return { text, isCut: false };
  const head = Math.floor(MAX_LINE_CHARS * HEAD);
  const tail = MAX_LINE_CHARS - head;
  const left = text.length - MAX_LINE_CHARS;
  return { text: `${text.slice(0, head)} … ${String(left)} characters not shown … ${text.slice(-tail)}`, isCut: true };
}

function someOf(lines: readonly string[]): readonly string[] {
  if (lines.length <= MAX_LINES) return lines;
  const head = Math.floor((MAX_LINES - 1) * HEAD);
  const first = lines.slice(0, head);
  const last = lines.slice(first.length + 1 - MAX_LINES);
  return [...first, `  … ${String(lines.length - first.length - last.length)} lines not shown …`, ...last];
}
