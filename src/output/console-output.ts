import { optionsOf } from '../json/known-options.ts';
import type { PlanStep } from '../parsing/calls/call-forms.ts';
import { dataText } from './console/data-text.ts';
import { type Entry, layOut } from './console/layout.ts';
import { liveText } from './console/live-text.ts';
import { painter } from './console/paint.ts';
import { openScreen } from './console/screen.ts';
import { statsText } from './console/stats-text.ts';
import { openTerminal, type OutputStream } from './console/terminal.ts';
import type { GuardedOutput } from './guard-output.ts';
import type { OutputHandler } from './output-handler.ts';

/** Options of {@link consoleOutput}. */
export interface ConsoleOutputOptions {
  /** Default: `process.stderr`, so that a program's own output stays clean. */
  readonly stream?: OutputStream;
  /** Default: as FORCE_COLOR, NO_COLOR and the terminal say. */
  readonly color?: boolean;
  /** Show each prompt as it goes to the model. */
  readonly showPrompts?: boolean;
  /** Show tokens, speed and time. */
  readonly showStats?: boolean;
  /** Show what helps to find a fault, such as how a reply was read. */
  readonly debug?: boolean;
  /** Show the answer. Default true; turn it off where the answer is written elsewhere. */
  readonly answer?: boolean;
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
 * while it arrives, and a spinner while waiting. Where the stream is no terminal it writes plain lines. Control characters
 * in what models and tools say are made visible, never obeyed.
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

  const show = (entry: Entry): void => {
    for (const line of layOut(entry, terminal, paint)) screen.line(line);
  };
  const field = (label: string, text: string, more: Partial<Entry> = {}): void =>
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
