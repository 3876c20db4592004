import { EXIT_CODE } from '../command/command.ts';
import type { Interrupts } from '../command/interrupts.ts';
import type { CliAgent } from '../agent/make-agent.ts';
import { reportEnd } from '../agent/run-once.ts';
import { type ChatRun, PROMPT, isCommand, runInChat } from './typed-messages.ts';
import type { Talk } from './chat-session.ts';
import type { Message } from '../../actors/model.ts';
import { escaped, oneLine } from '../../output/console/escaped.ts';
import { didYouMean } from '../../json/nearest-name.ts';
import { createInterface, type Interface } from 'node:readline';

/**
 * Takes questions at a prompt until the user leaves, and returns the exit code. After a Ctrl-C that cancelled
 * the previous run, another one leaves; the other signals end the process.
 */
export async function chatLoop(cli: CliAgent, talk: Talk, last: Before | null): Promise<number> {
  const readQuestion = questionReader(cli.interrupts);
  let before: Before = last ?? NOTHING;
  showNoQuestions(cli);
  if (!endsProcess(before)) console.error('Ask more, or type /help. Ctrl-D quits.');
  while (!endsProcess(before)) {
    // A conversation is one thing after the other.
    const typed = await readQuestion({ interrupted: before.stoppedBy === 'SIGINT', begun: before.unsent });
    if (typed.kind === 'stopped') return EXIT_CODE.cancelled;
    if (typed.kind === 'left') return EXIT_CODE.answered;
    const command = slashCommand(typed.text);
    if ((await command?.({ agent: cli.agent, talk })) === 'leave') return EXIT_CODE.answered;
    before = command === null ? await answer(cli, talk, typed.text) : NOTHING;
  }
  return EXIT_CODE.cancelled;
}

/** Ctrl-C ends the answer, and the other signals the chat with it. */
function endsProcess({ stoppedBy }: Before): boolean {
  return stoppedBy !== null && stoppedBy !== 'SIGINT';
}

/** What the run before leaves behind. */
type Before = Pick<ChatRun, 'stoppedBy' | 'unsent'>;

const NOTHING: Before = { stoppedBy: null, unsent: '' };

/** A question that was just typed stands there already. */
function showNoQuestions({ agent, console: shown }: CliAgent): void {
  if (shown === null) return;
  const { processingStart: _typed, ...rest } = shown;
  agent.configure({ output: rest });
}

async function answer(cli: CliAgent, talk: Talk, question: string): Promise<Before> {
  const { result, ...left } = await runInChat(cli, (signal) => talk.run(question, { signal }));
  reportEnd(cli, result, { json: false });
  return left;
}

type Action = (at: Pick<CliAgent, 'agent'> & { readonly talk: Talk }) => 'leave' | undefined | Promise<undefined>;

interface SlashCommand {
  readonly names: readonly string[];
  readonly help: string;
  readonly action: Action;
}

const COMMANDS: readonly SlashCommand[] = [
  { names: ['/help'], help: 'Show this list.', action: () => say(helpLines()) },
  {
    names: ['/tools'],
    help: 'List the tools, and which of them ask first.',
    action: ({ agent }) => say(toolLines(agent.listTools())),
  },
  {
    names: ['/history'],
    help: 'Show the conversation so far.',
    action: async ({ talk }) => say(historyLines(await talk.history())),
  },
  {
    names: ['/clear'],
    help: 'Forget the conversation.',
    action: async ({ talk }) => {
      await talk.forget();
      return say(['The conversation is forgotten.']);
    },
  },
  { names: ['/exit', '/quit'], help: 'Quit. So does Ctrl-D.', action: () => 'leave' },
];

/** The action that a typed line names, or null if it is a question. */
function slashCommand(text: string): Action | null {
  if (!isCommand(text)) return null;
  const word = text.trim();
  const found = COMMANDS.find(({ names }) => names.includes(word.toLowerCase()));
  const names = COMMANDS.flatMap((command) => command.names);
  return found?.action ?? (() => say([`There is no command '${word}'.${didYouMean(word, names)} /help lists them.`]));
}

function say(lines: readonly string[]): undefined {
  console.error(lines.map((line) => `  ${line}`).join('\n'));
}

function helpLines(): readonly string[] {
  const rows = COMMANDS.map(({ names, help }) => `${names.join(', ').padEnd(14)}${help}`);
  return [
    ...rows,
    '',
    'Anything else is a question. Ctrl-C cancels the answer that is being worked on, also when a tool asks.',
    'What you type meanwhile, and end with Enter, is a message to the model for its next step.',
  ];
}

function toolLines(
  tools: readonly { readonly name: string; readonly policy: string; readonly title?: string }[],
): readonly string[] {
  if (tools.length === 0) return ['There are no tools.'];
  const width = Math.max(...tools.map(({ name }) => name.length)) + 2;
  return tools.map(({ name, policy, title }) => {
    const words = [POLICY[policy] ?? policy, title === undefined ? '' : `(${oneLine(title)})`].filter(Boolean);
    return `${escaped(name).padEnd(width)}${words.join(' ')}`.trimEnd();
  });
}

const POLICY: Readonly<Record<string, string>> = { allow: '', confirm: 'asks first', deny: 'denied' };
const MAX_TEXT = 200;

function historyLines(history: readonly Message[]): readonly string[] {
  if (history.length === 0) return ['Nothing has been said yet.'];
  return history.map((message) => `${SPEAKER[message.role].padEnd(7)}${contentText(message)}`);
}

const SPEAKER = { system: 'system', user: 'you', assistant: 'agent', tool: 'tool' } as const;

function contentText({ content, toolCalls = [] }: Message): string {
  const text =
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : part.url)).join(' ');
  const calls = toolCalls.map((call) => `${call.name}(${call.arguments})`);
  const whole = escaped([text, ...calls].filter((piece) => piece !== '').join(' ')).replaceAll(/\s+/g, ' ');
  return whole.length > MAX_TEXT ? `${whole.slice(0, MAX_TEXT)}…` : whole;
}

/** What came from the prompt: a question, the wish to leave, or a signal that ends the process. */
type Typed =
  | { readonly kind: 'question'; readonly text: string }
  | { readonly kind: 'left' }
  | { readonly kind: 'stopped' };

/** Lines that follow each other within this time were pasted and belong together. */
const PASTE_MS = 40;

/**
 * Makes a reader of questions that remembers what was typed. Each read opens the terminal and closes it again, so that
 * others can use it between questions. Pasted lines are one question. Ctrl-D on an empty line leaves, and so does
 * Ctrl-C twice, the one that interrupted a run included. `begun` is the line's initial text.
 */
function questionReader(
  interrupts: Interrupts,
): (options: { readonly interrupted: boolean; readonly begun: string }) => Promise<Typed> {
  let history: string[] = [];
  return ({ interrupted, begun }) =>
    new Promise((resolve) => {
      const reader = createInterface({ input: process.stdin, output: process.stderr, prompt: PROMPT, history });
      const lines: string[] = [];
      let quiet: ReturnType<typeof setTimeout> | undefined;
      let armed = interrupted;
      let typed: Typed = { kind: 'left' };

      const finish = (result: Typed): void => {
        typed = result;
        reader.close();
      };
      const submit = (): void => {
        // The last line of what was pasted may lack its line break: the user presses Enter.
        if (reader.line !== '') return;
        const text = lines.join('\n').trim();
        lines.length = 0;
        if (text === '') reader.prompt();
        else finish({ kind: 'question', text });
      };
      reader.on('line', (line) => {
        armed = false;
        lines.push(line);
        clearTimeout(quiet);
        quiet = setTimeout(submit, PASTE_MS);
      });
      reader.on('history', (known: string[]) => {
        history = [...known];
      });
      reader.on('close', () => {
        clearTimeout(quiet);
        unhandle();
        if (typed.kind !== 'question') process.stderr.write('\n');
        resolve(typed);
      });
      reader.prompt();
      if (begun !== '') reader.write(begun);
      const interrupt = (): void => {
        const discards = reader.line !== '' || lines.length > 0;
        lines.length = 0;
        if (discards) clearLine(reader);
        else if (armed) return finish({ kind: 'left' });
        else process.stderr.write('\nPress Ctrl-C again, or Ctrl-D, to quit.\n');
        armed = !discards;
        reader.prompt();
      };
      // The terminal gives Ctrl-C to the prompt; as a signal it comes from elsewhere, or from just before.
      reader.on('SIGINT', interrupt);
      const unhandle = interrupts.handle((signal) => {
        if (signal === 'SIGINT') interrupt();
        else finish({ kind: 'stopped' });
      });
    });
}

function clearLine(reader: Interface): void {
  reader.write(null, { ctrl: true, name: 'e' });
  reader.write(null, { ctrl: true, name: 'u' });
  process.stderr.write('\n');
}
