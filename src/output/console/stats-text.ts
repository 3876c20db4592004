import type { OutputStats } from '../output-handler.ts';

/** Figures as one line, with what is known: `812 tokens in, 93 out, 41.2 tokens/s, first token after 0.35 s`. */
export function statsText({ scope, usage, tokensPerSecond, timeToFirstTokenMs, durationMs }: OutputStats): string {
  const figures = [
    ...(usage === null ? [] : [`${usage.inputTokens} tokens in`, `${usage.outputTokens} out`]),
    ...(tokensPerSecond === undefined ? [] : [`${tokensPerSecond.toFixed(1)} tokens/s`]),
    ...(timeToFirstTokenMs === undefined ? [] : [`first token after ${seconds(timeToFirstTokenMs)}`]),
    ...(durationMs === undefined ? [] : [seconds(durationMs)]),
  ];
  return `${scope === 'run' ? 'In all: ' : ''}${figures.join(', ')}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;
}
