import type { Usage } from '../actors/model.ts';
import type { PlanStep } from '../parsing/calls/call-forms.ts';

/** Figures of one reply, or of a whole run; null or absent where the server gives none. Times in milliseconds. */
export interface OutputStats {
  readonly scope: 'reply' | 'run';
  readonly usage: Usage | null;
  readonly timeToFirstTokenMs?: number;
  readonly tokensPerSecond?: number;
  readonly durationMs?: number;
}

type Shown = void | Promise<void>;

/**
 * Where a run is shown: the option `output`. Implement the methods you care for and leave out the rest; one that throws
 * or rejects never breaks a run.
 *
 * @example createAgent({ output: { toolUsage: (name) => log(`uses ${name}`), finalAnswer: (text) => log(text) } })
 */
export interface OutputHandler {
  /** What the handler shows without being asked by the agent's options. */
  readonly wants?: { readonly prompts?: boolean; readonly stats?: boolean; readonly debug?: boolean };
  /** A run begins; `model` is the model's name, or empty where it is not known yet. */
  processingStart?(query: string, maxSteps: number, model: string): Shown;
  /** Step `n` of at most `limit` begins. */
  stepHeader?(n: number, limit: number): Shown;
  /** A change of state, such as `tool.failed: EXECUTING_PLAN → ERROR_RECOVERY`. */
  stateInfo?(text: string): Shown;
  /** The model's thought. */
  thought?(text: string): Shown;
  /** The model's stated goal. */
  goal?(text: string): Shown;
  /** A plan, and the index of the step that is next; called again when the next step begins. */
  plan?(steps: readonly PlanStep[], current: number): Shown;
  /** A call of this tool begins; its arguments follow as `json`. */
  toolUsage?(name: string): Shown;
  /** A call has ended; its result follows as `json`, its failure as `error`. */
  toolComplete?(): Shown;
  /** Data with a title: the arguments or the result of a call. The data is whole; shorten it as you like. */
  json?(data: unknown, title: string): Shown;
  /** Something failed. */
  error?(text: string): Shown;
  /** A warning for the user. */
  warning?(text: string): Shown;
  /** Information for the user. */
  info?(text: string): Shown;
  /** Waiting begins; `text` says for what. */
  startProgress?(text: string): Shown;
  /** Waiting is over. */
  stopProgress?(): Shown;
  /** A piece of the answer while it arrives, without the envelope around it; only with `streaming`. */
  streamToken?(text: string): Shown;
  /** No further piece of this reply comes: it is whole, or its attempt failed. */
  streamEnd?(): Shown;
  /** The answer of the run. */
  finalAnswer?(text: string): Shown;
  /** The run is over after this many steps, however it ended. */
  completion?(steps: number, limit: number): Shown;
  /** A prompt as it is sent to the model; only with `showPrompts`. */
  prompt?(text: string): Shown;
  /** Figures; with `showStats`. */
  stats?(stats: OutputStats): Shown;
  /** What helps to find a fault; with `debug`. */
  debug?(text: string): Shown;
}

/** An output with every method, none of which ever throws. */
export type GuardedOutput = {
  readonly [Method in Exclude<keyof OutputHandler, 'wants'>]-?: (
    ...args: Parameters<NonNullable<OutputHandler[Method]>>
  ) => void;
};

/** Makes any handler safe to call: methods that it lacks do nothing, and whatever one throws or rejects with is dropped. */
export function guardOutput(handler: OutputHandler): GuardedOutput {
  return {
    processingStart: (query, maxSteps, model) => attempt(() => handler.processingStart?.(query, maxSteps, model)),
    stepHeader: (n, limit) => attempt(() => handler.stepHeader?.(n, limit)),
    stateInfo: (text) => attempt(() => handler.stateInfo?.(text)),
    thought: (text) => attempt(() => handler.thought?.(text)),
    goal: (text) => attempt(() => handler.goal?.(text)),
    plan: (steps, current) => attempt(() => handler.plan?.(steps, current)),
    toolUsage: (name) => attempt(() => handler.toolUsage?.(name)),
    toolComplete: () => attempt(() => handler.toolComplete?.()),
    json: (data, title) => attempt(() => handler.json?.(data, title)),
    error: (text) => attempt(() => handler.error?.(text)),
    warning: (text) => attempt(() => handler.warning?.(text)),
    info: (text) => attempt(() => handler.info?.(text)),
    startProgress: (text) => attempt(() => handler.startProgress?.(text)),
    stopProgress: () => attempt(() => handler.stopProgress?.()),
    streamToken: (text) => attempt(() => handler.streamToken?.(text)),
    streamEnd: () => attempt(() => handler.streamEnd?.()),
    finalAnswer: (text) => attempt(() => handler.finalAnswer?.(text)),
    completion: (steps, limit) => attempt(() => handler.completion?.(steps, limit)),
    prompt: (text) => attempt(() => handler.prompt?.(text)),
    stats: (stats) => attempt(() => handler.stats?.(stats)),
    debug: (text) => attempt(() => handler.debug?.(text)),
  };
}

function attempt(show: () => unknown): void {
  try {
    const shown = show();
    if (shown !== undefined) void Promise.resolve(shown).catch(() => undefined);
  } catch {
    // What an output does wrong must not disturb the run that it shows.
  }
}

/** An output that shows nothing. */
export function silentOutput(): OutputHandler {
  return {};
}
