import type { Json, JsonObject } from '../parsing/json.ts';
import { makeInert } from '../tools/terminal-confirm-text.ts';
import { type Terminal, type TerminalInput, visibleOutput } from '../tools/terminal.ts';
import { readLine } from '../tools/terminal-line.ts';
import { inTurn } from '../tools/terminal-queue.ts';
import type { McpElicit, McpElicitation, McpElicitationAnswer } from './answers.ts';
import { type FormField, formFields, readField } from './form-fields.ts';

/** Where to ask. */
export interface TerminalElicitOptions {
  /** Default `process.stdin`. Without a terminal (`isTTY`) every question is declined. */
  readonly input?: TerminalInput;
  /** Default `process.stderr`, or `process.stdout` where only that is a terminal. */
  readonly output?: NodeJS.WritableStream;
}

const MAX_CHARS = 2000;
const CANCEL = { action: 'cancel' } as const;
const DECLINE = { action: 'decline' } as const;

/**
 * Puts the questions of MCP servers to a person in the terminal, for `elicit` of an agent or a connection: field by field,
 * each checked as it is typed, and sent only after a last yes. Enter takes a default or leaves out what is not needed.
 * Ctrl-C and an aborted `signal` cancel; without a terminal, and for a schema that no form can be made of, it declines.
 *
 * @example createMcpConnection('forms', { command: 'forms-server' }, { elicit: terminalElicit() })
 */
export function terminalElicit(options: TerminalElicitOptions = {}): McpElicit {
  return (question, { signal }) => {
    const { input = process.stdin, output = visibleOutput() } = options;
    if (input.isTTY !== true || output === null) return DECLINE;
    if (signal.aborted) return CANCEL;
    const terminal: Terminal = { input, output, lastKey: '' };
    return inTurn<McpElicitationAnswer>(terminal, { signal, otherwise: CANCEL }, (done) => {
      const begin = async (): Promise<void> => done(await fill(terminal, question, signal).catch(() => CANCEL));
      void begin();
    });
  };
}

async function fill(terminal: Terminal, question: McpElicitation, signal: AbortSignal): Promise<McpElicitationAnswer> {
  const fields = formFields(question.schema);
  terminal.output.write(headText(question));
  if (fields === null) {
    terminal.output.write('It wants a kind of answer that cannot be typed here. Declined.\n');
    return DECLINE;
  }
  if (fields.length > 0) {
    const begin = await readLine(terminal, 'Answer it? y = yes, n = decline [y/N] ', signal);
    if (begin === null) return CANCEL;
    if (!isYes(begin)) return DECLINE;
  }
  const content: Record<string, Json> = {};
  for (const field of fields) {
    const value = await askField(terminal, field, signal);
    if (value === 'over') return CANCEL;
    if (value !== null) content[field.name] = value.value;
  }
  return confirmed(terminal, content, question.server, signal);
}

async function confirmed(
  terminal: Terminal,
  content: JsonObject,
  server: string,
  signal: AbortSignal,
): Promise<McpElicitationAnswer> {
  const lines = Object.entries(content).map(([name, value]) => `  ${shown(name)} = ${shown(JSON.stringify(value))}\n`);
  const send = await readLine(terminal, `${lines.join('')}Send this to '${shown(server)}'? [y/N] `, signal);
  if (send === null) return CANCEL;
  return isYes(send) ? { action: 'accept', content } : DECLINE;
}

/** Asks for one value until it fits; null when it is left out, `over` when there is nobody any more. */
async function askField(
  terminal: Terminal,
  field: FormField,
  signal: AbortSignal,
): Promise<{ readonly value: Json } | null | 'over'> {
  let prompt = fieldText(field);
  for (;;) {
    const line = await readLine(terminal, prompt, signal);
    if (line === null) return 'over';
    const read = readField(field, line);
    if (read.kind === 'value') return { value: read.value };
    if (read.kind === 'left-out') return null;
    prompt = `  That does not fit: ${shown(read.problem)}.\n  ${shown(field.name)}: `;
  }
}

function headText({ server, message }: McpElicitation): string {
  const lines = message
    .slice(0, MAX_CHARS)
    .split('\n')
    .map((line) => `  | ${shown(line)}\n`);
  return `\nThe MCP server '${shown(server)}' asks you:\n${lines.join('')}What you answer goes to that server. Give it no passwords.\n`;
}

function fieldText({ name, schema, required, choices, many }: FormField): string {
  const title = typeof schema.title === 'string' ? `${schema.title} (${name})` : name;
  const kind = choices.length > 0 ? (many ? 'some of these, with commas' : 'one of these') : kindOf(schema);
  const needed =
    schema.default === undefined
      ? required
        ? ''
        : ', may be left out'
      : `, default ${JSON.stringify(schema.default)}`;
  return [
    `${shown(title)}: ${shown(`${kind}${needed}`)}\n`,
    ...(typeof schema.description === 'string' ? [`  ${shown(schema.description)}\n`] : []),
    ...choices.map((choice, at) => `  ${at + 1} ${shown(choice.title)}\n`),
    `  ${shown(name)}: `,
  ].join('');
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

/** What comes from a server can neither move the cursor nor pass for the question. */
function shown(text: string): string {
  return makeInert(text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text);
}
