import { isJsonObject } from '../../json/json.ts';
import { optionsOf } from '../../json/known-options.ts';
import type { PlanStep } from '../../parsing/calls/call-forms.ts';
import type { GuardedOutput, OutputHandler, OutputStats } from '../output-handler.ts';
import { type TextEntry, layOut, painter } from './paint.ts';
import { liveText } from './live-text.ts';
import { openScreen } from './screen.ts';
import { type OutputStream, openTerminal } from './terminal.ts';

/** Options of {@link consoleOutput}. */
export interface ConsoleOutputOptions {
  /** Default: `process.stderr`, so that a program's own output stays clean. */
  readonly stream?: OutputStream | undefined;
  /** Default: as FORCE_COLOR, NO_COLOR and the terminal say. */
  readonly color?: boolean | undefined;
  /** Show each prompt as it is sent to the model. */
  readonly showPrompts?: boolean | undefined;
  /** Show tokens, speed and time. */
  readonly showStats?: boolean | undefined;
  /** Show debugging details, such as how a reply was read. */
  readonly debug?: boolean | undefined;
  /** Show the answer. Default true; turn it off where the answer is written elsewhere. */
  readonly answer?: boolean | undefined;
}

const checkOptions = optionsOf<ConsoleOutputOptions>('consoleOutput', 'docs/agents.md', {
  stream: true,
  color: true,
  showPrompts: true,
  showStats: true,
  debug: true,
  answer: true,
});

/** The console: an output that has every method. */
export type ConsoleOutput = GuardedOutput & Pick<OutputHandler, 'wants'>;

const LABEL_WIDTH = 9;
const DATA_CHARS = 2_000;
const DATA_LINES = 8;
const THOUGHT_LINES = 12;

/**
 * Shows a run on a terminal: steps, thoughts, plans, tool calls with arguments and results (shortened), errors, the reply
 * while it arrives, and a spinner while waiting. If the stream is not a terminal it writes plain lines. Control
 * characters in the output of models and tools are made visible, never interpreted.
 *
 * @example createAgent({ output: consoleOutput({ showStats: true }) })
 */
export function consoleOutput(options: ConsoleOutputOptions = {}): ConsoleOutput {
  checkOptions(options);
  const { process } = globalThis;
  const terminal = openTerminal(options.stream ?? process?.stderr, options.color, process?.env ?? {});
  const paint = painter(terminal.color);
  const screen = openScreen(terminal, paint);
  const live = liveText(screen, { live: terminal.live, wanted: options.answer !== false, columns: terminal.columns });
  let plan: readonly PlanStep[] | null = null;

  const show = (entry: TextEntry): void => {
    for (const line of layOut(entry, terminal, paint)) screen.line(line);
  };
  const field = (label: string, text: string, more: Partial<TextEntry> = {}): void =>
    show({ indent: 2, label, labelStyle: 'dim', labelWidth: LABEL_WIDTH, text, ...more });
  const planStep = (step: PlanStep, index: number): string =>
    `${index + 1}. ${step.tool} ${dataText(step.args, DATA_CHARS / 4)}`;

  return {
    wants: { prompts: options.showPrompts === true, stats: options.showStats === true, debug: options.debug === true },
    processingStart(query, maxSteps, model) {
      plan = null;
      screen.gap();
      show({ indent: 0, label: '›', labelStyle: 'cyan', text: query, style: 'bold' });
      field('', `${model === '' ? '' : `${model}, `}up to ${maxSteps} steps`, { style: 'dim' });
    },
    stepHeader(n, limit) {
      screen.gap();
      show({ indent: 0, label: '●', labelStyle: 'cyan', text: `Step ${n} of ${limit}` });
    },
    stateInfo: (text) => show({ indent: 2, label: '·', labelStyle: 'dim', text, style: 'dim' }),
    thought: (text) => {
      if (!live.hasShown(text)) field('thought', text, { maxLines: THOUGHT_LINES });
    },
    goal: (text) => field('goal', text),
    plan(steps, current) {
      const step = steps[current];
      if (plan === steps && step !== undefined) field('plan', planStep(step, current), { maxLines: DATA_LINES });
      else
        for (const [index, each] of steps.entries())
          field(index === 0 ? 'plan' : ' ', planStep(each, index), { maxLines: 3 });
      plan = steps;
    },
    toolUsage: (name) => show({ indent: 2, label: '▸', labelStyle: 'cyan', text: name, style: 'bold' }),
    toolComplete: () => undefined,
    json: (data, title) => {
      if (title === 'Arguments' && dataText(data, 3) === '{}') return;
      show({
        indent: 4,
        label: lowerFirst(title),
        labelStyle: 'dim',
        labelWidth: LABEL_WIDTH + 2,
        text: dataText(data, DATA_CHARS),
        maxLines: DATA_LINES,
      });
    },
    error: (text) => show({ indent: 2, label: '✗', labelStyle: 'red', text, style: 'red' }),
    warning: (text) => show({ indent: 2, label: '!', labelStyle: 'yellow', text, style: 'yellow' }),
    info: (text) => show({ indent: 2, label: 'i', labelStyle: 'cyan', text }),
    startProgress: (text) => screen.spin(text),
    stopProgress: () => screen.stopSpinning(),
    streamToken: (text) => live.token(text),
    streamEnd: () => live.end(),
    finalAnswer(text) {
      if (options.answer === false || live.hasShown(text)) return;
      screen.gap();
      show({ indent: 0, label: '', text });
    },
    completion(steps, limit) {
      screen.gap();
      show({ indent: 0, label: '', text: `${steps} of ${limit} steps taken.`, style: 'dim' });
    },
    prompt: (text) => field('prompt', text, { style: 'dim' }),
    stats: (stats) => {
      if (stats.scope === 'run') screen.gap();
      show({ indent: 2, label: '·', labelStyle: 'dim', text: statsText(stats), style: 'dim' });
    },
    debug: (text) => field('debug', text, { style: 'dim' }),
  };
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

/** Figures as one line, with what is known: `812 tokens in (640 cached), 93 out, 41.2 tokens/s, first token after 0.35 s`. */
function statsText({ scope, usage, tokensPerSecond, timeToFirstTokenMs, durationMs }: OutputStats): string {
  const figures = [
    usage && `${usage.inputTokens} tokens in${share(usage.cachedInputTokens, 'cached')}`,
    usage && `${usage.outputTokens} out${share(usage.reasoningTokens, 'reasoning')}`,
    tokensPerSecond !== undefined && `${tokensPerSecond.toFixed(1)} tokens/s`,
    timeToFirstTokenMs !== undefined && `first token after ${seconds(timeToFirstTokenMs)}`,
    durationMs !== undefined && seconds(durationMs),
  ];
  return `${scope === 'run' ? 'In all: ' : ''}${figures.filter(Boolean).join(', ')}`;
}

function share(tokens: number | undefined, what: string): string {
  return tokens === undefined || tokens === 0 ? '' : ` (${tokens} ${what})`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;
}

/**
 * Data as people read it, at most about so many characters of it: text as it is, anything else as JSON on one line. A
 * result that holds nothing but its data is shown as the data, and data that is nothing but a text as the text.
 */
function dataText(data: unknown, limit: number): string {
  const shown = bareData(data);
  if (typeof shown === 'string') return shown.length > limit ? `${shown.slice(0, limit)}…` : shown;
  const writer = jsonWriter(limit);
  writer.write(shown, 0);
  return writer.text();
}

function bareData(data: unknown): unknown {
  if (!isJsonObject(data) || data.status !== 'success') return data;
  const rest = Object.entries(data).filter(([key, value]) => key !== 'status' && value !== undefined);
  const [only] = rest;
  if (only === undefined) return 'done';
  if (rest.length > 1) return Object.fromEntries(rest);
  return only[0] === 'data' || only[0] === 'message' ? bareContent(only[1]) : Object.fromEntries(rest);
}

/** Servers of the Model Context Protocol like to put a lone text into an object. */
function bareContent(data: unknown): unknown {
  return isJsonObject(data) && typeof data.content === 'string' && Object.keys(data).length === 1 ? data.content : data;
}

const MAX_DEPTH = 20;

/** Writes JSON until the limit is reached, so that a large value costs no more than what is shown of it. */
function jsonWriter(limit: number) {
  let text = '';
  const write = (value: unknown, depth: number): void => {
    const isList = Array.isArray(value);
    if (depth > MAX_DEPTH) text += '…';
    else if (isList || isJsonObject(value)) {
      const entries: Iterable<readonly [string | number, unknown]> = isList ? value.entries() : Object.entries(value);
      let separator = '';
      text += isList ? '[' : '{';
      for (const [key, member] of entries) {
        const full = text.length >= limit;
        text += full ? `${separator}…` : separator;
        if (full) break;
        if (typeof key === 'string') text += `${quoted(key, limit)}: `;
        write(member, depth + 1);
        separator = ', ';
      }
      text += isList ? ']' : '}';
    } else text += typeof value === 'string' ? quoted(value, limit - text.length) : String(value);
  };
  return { write, text: () => text };
}

function quoted(text: string, limit: number): string {
  return text.length > limit
    ? `${JSON.stringify(text.slice(0, Math.max(limit, 0))).slice(0, -1)}…"`
    : JSON.stringify(text);
}
