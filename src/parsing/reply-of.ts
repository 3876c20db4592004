import type { Envelope } from './envelope.ts';
import type { Repair, Reply, Strategy } from './reply.ts';

/** How an envelope was found. */
export interface Provenance {
  readonly strategy: Strategy;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  /** The reasoning that stood outside the envelope; it is the thought where the envelope has none. */
  readonly thinking: string;
  /** What a second parser made of the same text: `agrees`, `differs`, or not asked. */
  readonly secondOpinion?: 'agrees' | 'differs';
}

/** From this cost on, a reading is bold enough to be doubted. */
const BOLD = 4;

/** The reply that an envelope makes. */
export function replyOf(envelope: Envelope, how: Provenance): Reply {
  const { form, repairs: moved = [], ...said } = envelope;
  const repairs = moved.length === 0 ? how.repairs : [...how.repairs, ...moved];
  return {
    ...said,
    thought: said.thought === '' ? how.thinking : said.thought,
    strategy: form === 'calls' ? 'dialect' : how.strategy,
    ...(form === 'calls' ? { dialect: 'bare-json' } : {}),
    complete: how.complete,
    confidence: confidenceOf(repairs, how),
    repairs,
  };
}

/** Low for fields without an object, for bold repairs, and where a second parser reads something else. */
export function confidenceOf(
  repairs: readonly Repair[],
  { strategy, secondOpinion }: Pick<Provenance, 'strategy' | 'secondOpinion'>,
): Reply['confidence'] {
  if (secondOpinion === 'agrees') return 'high';
  if (strategy === 'fields' || secondOpinion === 'differs') return 'low';
  return totalCost(repairs) >= BOLD ? 'low' : 'high';
}

/** What all repairs together cost. */
export function totalCost(repairs: readonly Repair[]): number {
  return repairs.reduce((sum, { cost }) => sum + cost, 0);
}
