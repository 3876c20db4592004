import type { OutputHandler } from './output-handler.ts';

/** An output of which every method exists and none ever throws. */
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
    if (shown !== undefined) void Promise.resolve(shown).catch(ignore);
  } catch {
    // What an output does wrong is no reason to disturb the run that it shows.
  }
}

function ignore(): void {}
