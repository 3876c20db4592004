import type { Talk } from './talk/talk.ts';

/** What one turn of the model cost. */
export interface TurnCost {
  readonly turn: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly durationMs: number;
}

/** Tokens and time by turn, and in all. Turns of a server that counts no tokens count as 0. */
export function costsOf(talk: Talk): { readonly turns: readonly TurnCost[]; readonly total: Omit<TurnCost, 'turn'> } {
  const turns: TurnCost[] = [];
  let turn = 0;
  for (const item of talk.items) {
    if (item.kind === 'turn') turn = item.number;
    if (item.kind !== 'model' || item.replied === null) continue;
    const { inputTokens = 0, outputTokens = 0 } = item.replied.usage ?? {};
    turns.push({ turn, inputTokens, outputTokens, durationMs: (item.endedAt ?? item.at) - item.at });
  }
  const sum = (of: (cost: TurnCost) => number): number => turns.reduce((all, cost) => all + of(cost), 0);
  return {
    turns,
    total: {
      inputTokens: sum((cost) => cost.inputTokens),
      outputTokens: sum((cost) => cost.outputTokens),
      durationMs: sum((cost) => cost.durationMs),
    },
  };
}
