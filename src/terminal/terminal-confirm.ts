import { optionsOf } from '../json/known-options.ts';
import {
  type PromptTerminal,
  type ScreenSize,
  type TerminalInput,
  type TerminalOutput,
  inTurn,
  visibleOutput,
} from './prompt-terminal.ts';
import { type LinePrompt, type TypedEnd, takeLine } from './terminal-line.ts';
import type { ToolSource } from '../tools/server-tool.ts';
import { type Boxed, boxed, hiddenText, NO_LIMITS, ownRows } from './boxed-text.ts';

/** Where to ask. */
export interface TerminalConfirmOptions {
  /** Default `process.stdin`. Without a terminal (`isTTY`) every question is answered with deny. */
  readonly input?: TerminalInput | undefined;
  /** Default `process.stderr`, so that what a program prints stays clean, or `process.stdout` where only that is a terminal. */
  readonly output?: TerminalOutput | undefined;
  /** Called when a Ctrl-C has denied a call: the place to cancel the run. Without it a Ctrl-C denies that one call. */
  readonly onInterrupt?: (() => void) | undefined;
}

const checkOptions = optionsOf<TerminalConfirmOptions>('terminalConfirm', 'docs/security.md', {
  input: true,
  output: true,
  onInterrupt: true,
});

/** One call of the function that {@link terminalConfirm} makes. */
export interface TerminalConfirmRequest extends ConfirmQuestion {
  /** Withdraws the question. */
  readonly signal?: AbortSignal;
}

/**
 * Asks in the terminal whether a tool may run, for `confirm` of an agent or of a tool registry. The person sees tool,
 * arguments and reason and answers `y` (allow once), `a` (always allow) or `n` (deny), or first `s` to see all of a call
 * that does not fit the screen. Everything else is a denial: another answer, Ctrl-C, the end of the input, an aborted
 * `signal`, and no terminal at all. Several questions are asked one after the other, and keys pressed before a question
 * stands on the screen do not answer it. Never rejects.
 *
 * @example createToolRegistry({ confirm: terminalConfirm() })
 */
export function terminalConfirm(options: TerminalConfirmOptions = {}) {
  checkOptions(options);
  return async (request: TerminalConfirmRequest): Promise<TerminalDecision> => {
    const { input = process.stdin, output = visibleOutput(), onInterrupt } = options;
    if (input.isTTY !== true || output === null || request.signal?.aborted === true) return 'deny';
    const terminal = { input, output, lastKey: '' };
    const { signal } = request;
    return inTurn<TerminalDecision>(terminal, { signal, otherwise: 'deny' }, (done) =>
      askInTerminal(terminal, request, signal, (end) => {
        // First, so that a caller that cancels withdraws the questions behind this one before they are put.
        try {
          if (end?.kind === 'interrupted') onInterrupt?.();
        } finally {
          done(decisionOf(end));
        }
      }),
    );
  };
}

/** What a person answers. */
type TerminalDecision = 'allow-once' | 'always-allow' | 'deny';

type Layout = (size: ScreenSize, how: { readonly whole: boolean }) => ShownQuestion;

const MAX_ANSWER_CHARS = 20;
const ANSWERS: ReadonlyMap<string, TerminalDecision> = new Map([
  ['y', 'allow-once'],
  ['yes', 'allow-once'],
  ['a', 'always-allow'],
  ['always', 'always-allow'],
]);
const SHOW_ALL: ReadonlySet<string> = new Set(['s', 'show']);

/**
 * Asks one question and calls `done` once, also if the input ends, breaks or was over before, and if `signal` aborts; with null
 * if the question cannot be shown. The terminal is left as it was found.
 */
function askInTerminal(
  terminal: PromptTerminal,
  question: ConfirmQuestion,
  signal: AbortSignal | undefined,
  done: (end: TypedEnd | null) => void,
): void {
  let layout: Layout;
  try {
    layout = questionText(question);
  } catch {
    return done(null);
  }
  ask(terminal, layout, { whole: false, signal, done });
}

function ask(
  terminal: PromptTerminal,
  layout: Layout,
  how: {
    readonly whole: boolean;
    readonly signal: AbortSignal | undefined;
    readonly done: (end: TypedEnd) => void;
  },
): void {
  let canShowMore = false;
  const wantsMore = (end: TypedEnd): boolean => canShowMore && end.kind === 'line' && SHOW_ALL.has(wordOf(end.text));
  const prompt: LinePrompt = {
    maxChars: MAX_ANSWER_CHARS,
    text: (size, { again }) => {
      // After a change of size one screenful stands there again, with the tool at its top.
      const shown = layout(size, { whole: how.whole && !again });
      canShowMore = shown.isCut;
      return shown.text;
    },
    note: (end) => (wantsMore(end) ? '' : `${noteOf(end)}\n`),
  };
  takeLine(terminal, prompt, how.signal, (end) => {
    if (wantsMore(end)) return ask(terminal, layout, { ...how, whole: true });
    how.done(end);
  });
}

function decisionOf(end: TypedEnd | null): TerminalDecision {
  return end?.kind === 'line' ? (ANSWERS.get(wordOf(end.text)) ?? 'deny') : 'deny';
}

function noteOf(end: TypedEnd): string {
  switch (end.kind) {
    case 'line':
      return NOTES[decisionOf(end)];
    case 'interrupted':
      return NOTES.deny;
    case 'over':
      return 'Denied: the input has ended.';
    case 'withdrawn':
      return 'Withdrawn: the call is no longer needed.';
  }
}

const NOTES: Readonly<Record<TerminalDecision, string>> = {
  'allow-once': 'Allowed once.',
  'always-allow': 'Always allowed.',
  deny: 'Denied.',
};

function wordOf(typed: string): string {
  return typed.trim().toLowerCase();
}

/** What a person is asked about. */
export interface ConfirmQuestion extends ToolSource {
  readonly tool: string;
  readonly args: unknown;
  /** Why it is asked, in a sentence. */
  readonly reason: string;
}

/** A question as it is shown on a screen; `isCut`: some of it was left out. */
export interface ShownQuestion {
  readonly text: string;
  readonly isCut: boolean;
}

const MAX_ROWS = 40;
const MIN_ROWS = 5;
/** Of one line of the arguments, from what is wished for to what must do. */
const LINE_CHARS = [400, 200] as const;
const SHORTEST = 100;
/** Of names and reasons. */
const SHORT = { rows: 3, lineChars: 200 };
/** For a server's texts, on a screen of fewer rows than `TALL` and on others. */
const SHORTER = { rows: 5, lineChars: 300 };
const LONGER = { rows: 8, lineChars: 600 };
const TALL = 40;
/** Of arguments, beside what a server says; and of that, where the arguments need the room. */
const FEWEST_ROWS = 3;

/**
 * Reads the arguments of a call once, and returns a function that lays the question out: tool, reason and arguments, then
 * the tool once more, the answers and the place to type one. It fills one screen at most, unless `whole` is asked for.
 * Throws for arguments that cannot be shown.
 */
export function questionText(question: ConfirmQuestion) {
  const { tool, args, reason } = question;
  const lines = pretty(args, 2);
  const dense = pretty(args, 0);
  const fewest = question.server === undefined ? MIN_ROWS : FEWEST_ROWS;
  return (size: ScreenSize, { whole }: { readonly whole: boolean }): ShownQuestion => {
    const own = (text: string): readonly string[] => ownRows(text, size.columns);
    const name = boxed([tool], size, whole ? NO_LIMITS : SHORT);
    const why = boxed([reason], size, whole ? NO_LIMITS : SHORT);
    const isLow = size.rows < TALL;
    const limits = whole ? NO_LIMITS : isLow ? SHORTER : LONGER;
    const about = sourceParts(question, isLow && !whole);
    const above = (source: readonly string[]): readonly string[] =>
      [own(TITLE), name.rows, source, own('Why:'), why.rows, own('Arguments:')].flat();
    const below = (hidden: string | null): readonly string[] => [
      ...(hidden === null ? [] : own(`${hidden} Deny, unless what you see is enough.`)),
      ...own('Tool:'),
      ...boxed([tool], size, SHORT).rows,
      ...own(
        `y = allow this once, a = always allow this tool with any arguments, n = deny${hidden === null ? '' : ', s = show everything'}`,
      ),
    ];
    const roomBelow = (source: readonly string[]): number =>
      size.rows - above(source).length - below(LONGEST_NOTE).length - OWN_ROWS;
    // What the call does matters more than the server's description of its tool, unless that has changed.
    const needed = Math.min(boxed(lines, size, NO_LIMITS).rows.length, MAX_ROWS);
    const spare = roomBelow(about.flatMap(({ title }) => own(title))) - needed;
    const least = question.changes === undefined ? FEWEST_ROWS : limits.rows;
    const room = Math.max(least, Math.floor(spare / about.length));
    const sourceLimits = { ...limits, rows: Math.min(limits.rows, room) };
    const parts = about.map(({ title, lines: said }) => {
      const box = boxed(said, size, NO_LIMITS);
      return { title, box: whole || box.rows.length <= room ? box : boxed(said, size, sourceLimits) };
    });
    const source = parts.flatMap(({ title, box }) => [...own(title), ...box.rows]);
    const rows = Math.min(Math.max(roomBelow(source), fewest), MAX_ROWS);
    const shown = whole ? boxed(lines, size, NO_LIMITS) : fitted(lines, dense, size, rows);
    const hidden = hiddenText([name, ...parts.map(({ box }) => box), why, shown]);
    const place = hidden === null ? 'Allow? [y/a/N] ' : 'Allow? [y/a/s/N] ';
    return { text: ['', ...above(source), ...shown.rows, ...below(hidden), place].join('\n'), isCut: hidden !== null };
  };
}

const TITLE = 'The agent wants to run this tool:';
const FROM = 'It is this tool of an MCP server, which says of it:';
const CHANGED = 'It has changed since you always allowed it:';
const LONGEST_NOTE = '! Not everything is shown: 999,999,999 more characters, 999,999,999 more lines.';
/** The empty row at the top, and the place to type. */
const OWN_ROWS = 2;

/**
 * Short arguments are joined to one line before any of it is left out. Long lines are shortened before any is left out: what
 * stands behind a long text is seen then.
 */
function fitted(lines: readonly string[], dense: readonly string[], size: ScreenSize, rows: number): Boxed {
  const joined = boxed(dense, size, NO_LIMITS);
  if (boxed(lines, size, NO_LIMITS).rows.length > rows && joined.rows.length <= Math.min(rows, MIN_ROWS)) return joined;
  const shown = (lineChars: number): Boxed => boxed(lines, size, { rows, lineChars });
  return shown(LINE_CHARS.find((lineChars) => shown(lineChars).hiddenLines === 0) ?? SHORTEST);
}

/** Foreign text with our own heading above it. */
interface Part {
  readonly title: string;
  readonly lines: readonly string[];
}

/**
 * What is known of a tool of an MCP server: the server, its description of the tool, and what has changed, which on a low
 * screen stands in one part, the changes first.
 */
function sourceParts(question: ConfirmQuestion, isLow: boolean): readonly Part[] {
  const { server, address = '', serverTool = '', title, description, annotations, changes = [] } = question;
  if (server === undefined) return [];
  const from = `${serverTool} of ${server}`;
  const says = [title, description?.replaceAll('\n', ' '), address, annotations && JSON.stringify(annotations)];
  const said = says.flatMap((line) => (line === undefined || line === '' ? [] : [line]));
  const changed = changes.flatMap(({ what, before, after }) => [
    `${what} before: ${before === '' ? '(none)' : before}`,
    `${what} now: ${after === '' ? '(none)' : after}`,
  ]);
  if (isLow || changed.length === 0) return [{ title: FROM, lines: [from, ...changed, ...said] }];
  return [
    { title: FROM, lines: [from, ...said] },
    { title: CHANGED, lines: changed },
  ];
}

function pretty(args: unknown, indent: number): readonly string[] {
  const json: unknown = JSON.stringify(args, null, indent);
  return typeof json === 'string' ? json.split('\n') : ['none'];
}
