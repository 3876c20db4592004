import {
  type ScreenSize,
  type TerminalInput,
  type TerminalOutput,
  inTurn,
  type PromptTerminal,
  screenSize,
  visibleOutput,
} from '../../terminal/prompt-terminal.ts';
import { optionsOf } from '../../json/known-options.ts';
import type { McpElicit, McpElicitation, McpElicitationAnswer, McpUrlElicitation } from '../config/answers.ts';
import { type QuestionField, isHiddenField, maskedAnswer, questionFields, readField } from './form-answers.ts';
import { type BoxLimits, boxed, hiddenText, ownRows } from '../../terminal/boxed-text.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import { readLine } from '../../terminal/terminal-line.ts';

/** Where to ask. */
export interface TerminalElicitOptions {
  /** Default `process.stdin`. Without a terminal (`isTTY`) every question is declined. */
  readonly input?: TerminalInput | undefined;
  /** Default `process.stderr`, or `process.stdout` where only that is a terminal. */
  readonly output?: TerminalOutput | undefined;
  /** Called when a Ctrl-C has cancelled a question: the place to cancel the run. Without it only the question is cancelled. */
  readonly onInterrupt?: (() => void) | undefined;
}

const checkOptions = optionsOf<TerminalElicitOptions>('terminalElicit', 'docs/mcp.md', {
  input: true,
  output: true,
  onInterrupt: true,
});

const CANCEL = { action: 'cancel' } as const;
const DECLINE = { action: 'decline' } as const;

/**
 * Puts the questions of MCP servers to a person in the terminal, for `elicit` of an agent or a connection: field by field,
 * each checked as it is typed, and sent only after a last yes. Enter takes a default or leaves out what is not needed.
 * What is typed into a field for a secret is shown as stars. A page is shown with its origin and never opened. Ctrl-C and an
 * aborted `signal` cancel; without a terminal, and for a schema that no form can be made of, it declines.
 *
 * @example createMcpConnection('forms', { command: 'forms-server' }, { elicit: terminalElicit() })
 */
export function terminalElicit(options: TerminalElicitOptions = {}): McpElicit {
  checkOptions(options);
  return (question, { signal }) => {
    const { input = process.stdin, output = visibleOutput(), onInterrupt } = options;
    if (input.isTTY !== true || output === null) return DECLINE;
    if (signal.aborted) return CANCEL;
    const terminal: PromptTerminal = { input, output, lastKey: '' };
    const form: Form = { terminal, question, signal, onInterrupt };
    return inTurn<McpElicitationAnswer>(terminal, { signal, otherwise: CANCEL }, (done) => {
      const begin = async (): Promise<void> => done(await fill(form).catch(() => CANCEL));
      void begin();
    });
  };
}

/** A question on its way to an answer. */
interface Form {
  readonly terminal: PromptTerminal;
  readonly question: McpElicitation;
  readonly signal: AbortSignal;
  readonly onInterrupt: (() => void) | undefined;
}

/** Text of the server with our own words above it. */
interface Part {
  readonly title: string;
  readonly lines: readonly string[];
}

/** What a person sees before they type a line. */
interface Page {
  readonly parts: readonly Part[];
  /** The place to type, which fits the narrowest screen. */
  readonly place: string;
  /** What is typed is a secret. */
  readonly isHidden?: boolean;
}

const LINE_CHARS = 2000;
const MAX_ROWS = 100;
const MIN_ROWS = 3;
const HIDDEN_NOTE = 'What you type is shown as stars, and goes to the server alone:';
const LONGEST_NOTE = '! Not everything is shown: 999,999,999 more characters, 999,999,999 more lines.';
/** The empty row at the top, and the place to type. */
const OWN_ROWS = 2;

async function fill(form: Form): Promise<McpElicitationAnswer> {
  if (form.question.mode === 'url') return visited(form, form.question);
  const fields = questionFields(form.question.schema);
  const head = headOf(form.question);
  if (fields === null) {
    const size = screenSize(form.terminal.output);
    const verdict = ownRows('It wants a kind of answer that cannot be typed here. Declined.', size.columns);
    form.terminal.output.write(`${oneScreen({ parts: head, place: '' }, size)}${verdict.join('\n')}\n`);
    return DECLINE;
  }
  if (fields.length > 0) {
    const begin = await ask(form, { parts: head, place: 'Answer? [y/N] ' });
    if (begin === null) return CANCEL;
    if (!isYes(begin)) return DECLINE;
  }
  const content: Record<string, Json> = {};
  for (const [at, field] of fields.entries()) {
    const value = await askField(form, field, `Field ${at + 1} of ${fields.length}:`);
    if (value === 'over') return CANCEL;
    if (value !== null) content[field.name] = value.value;
  }
  return confirmed(form, content, fields.length === 0 ? head : []);
}

/** The person opens the page, or does not: nothing here does. */
async function visited(form: Form, question: McpUrlElicitation): Promise<McpElicitationAnswer> {
  const parts = [
    { title: 'An MCP server asks you to open a web page:', lines: question.message.split('\n') },
    { title: 'The page is at:', lines: [question.origin] },
    { title: 'Its whole address, to be opened by you, if you trust it:', lines: [question.url] },
    { title: 'Asked by this server:', lines: [question.server] },
  ];
  const done = await ask(form, { parts, place: 'Done there? [y/N] ' });
  if (done === null) return CANCEL;
  return isYes(done) ? { action: 'accept', content: {} } : DECLINE;
}

async function confirmed(form: Form, content: JsonObject, head: readonly Part[]): Promise<McpElicitationAnswer> {
  const seen = maskedAnswer(content, form.question.schema);
  const lines = Object.entries(seen).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const parts = [
    ...head.slice(0, 1),
    { title: lines.length === 0 ? 'A plain yes would be sent.' : 'This would be sent:', lines },
    { title: 'To this server:', lines: [form.question.server] },
  ];
  const send = await ask(form, { parts, place: 'Send it? [y/N] ' });
  if (send === null) return CANCEL;
  return isYes(send) ? { action: 'accept', content } : DECLINE;
}

/** Asks for one value until it fits; null when it is left out, `over` if the input has ended. */
async function askField(
  form: Form,
  field: QuestionField,
  title: string,
): Promise<{ readonly value: Json } | null | 'over'> {
  const isHidden = isHiddenField(field.name, field.schema);
  let parts: readonly Part[] = [{ title, lines: fieldLines(field) }];
  if (isHidden) parts = [...parts, { title: HIDDEN_NOTE, lines: [field.name] }];
  for (;;) {
    const line = await ask(form, { parts, place: 'Your answer: ', isHidden }, headOf(form.question));
    if (line === null) return 'over';
    const read = readField(field, line);
    if (read.kind === 'value') return { value: read.value };
    if (read.kind === 'left-out') return null;
    parts = [
      { title: 'That does not fit:', lines: [isHidden ? 'it is not of the form that is wanted' : read.problem] },
      { title, lines: [field.name] },
    ];
  }
}

/** Shows a page and takes a line; null when there is none. What the page belongs to is only shown on a cleared screen. */
async function ask(form: Form, page: Page, belongsTo: readonly Part[] = []): Promise<string | null> {
  const { terminal, signal, onInterrupt } = form;
  const whole: Page = { ...page, parts: [...belongsTo, ...page.parts] };
  const text = (size: ScreenSize, { again }: { readonly again: boolean }): string =>
    again || belongsTo.length === 0
      ? oneScreen(whole, size)
      : pageText(page, size, { rows: MAX_ROWS, lineChars: LINE_CHARS });
  const end = await readLine(terminal, { text, isHidden: page.isHidden === true }, signal);
  if (end.kind === 'interrupted') onInterrupt?.();
  return end.kind === 'line' ? end.text : null;
}

/** A page that fills the screen at most: its parts share what our own words leave of it. */
function oneScreen(page: Page, size: ScreenSize): string {
  const own = [...page.parts.map(({ title }) => title), LONGEST_NOTE].flatMap((text) => ownRows(text, size.columns));
  const room = Math.floor((size.rows - own.length - OWN_ROWS) / page.parts.length);
  return pageText(page, size, { rows: Math.min(Math.max(room, MIN_ROWS), MAX_ROWS), lineChars: LINE_CHARS });
}

function pageText({ parts, place }: Page, size: ScreenSize, limits: BoxLimits): string {
  const boxes = parts.map(({ lines }) => boxed(lines, size, limits));
  const rows = parts.flatMap(({ title }, at) => [...ownRows(title, size.columns), ...(boxes[at]?.rows ?? [])]);
  const hidden = hiddenText(boxes);
  return ['', ...rows, ...(hidden === null ? [] : ownRows(hidden, size.columns)), place].join('\n');
}

function headOf({ server, message }: McpElicitation): readonly Part[] {
  return [
    { title: 'An MCP server asks you:', lines: message.split('\n') },
    { title: 'What you answer goes to this server. Give it no passwords.', lines: [server] },
  ];
}

function fieldLines({ name, schema, required, choices, many }: QuestionField): readonly string[] {
  const title = typeof schema.title === 'string' ? `${schema.title} (${name})` : name;
  const kind = choices.length > 0 ? (many ? 'some of these, with commas' : 'one of these') : kindOf(schema);
  const needed =
    schema.default === undefined
      ? required
        ? ''
        : ', may be left out'
      : `, default ${JSON.stringify(schema.default)}`;
  return [
    `${title}: ${kind}${needed}`,
    ...(typeof schema.description === 'string' ? schema.description.split('\n') : []),
    ...choices.map((choice, at) => `${at + 1} ${choice.title}`),
  ];
}

function kindOf({ type, format }: JsonObject): string {
  if (type === 'boolean') return 'y or n';
  if (type === 'integer') return 'a whole number';
  if (type === 'number') return 'a number';
  return typeof format === 'string' ? `text (${format})` : 'text';
}

function isYes(line: string): boolean {
  return /^y(es)?$/i.test(line.trim());
}
