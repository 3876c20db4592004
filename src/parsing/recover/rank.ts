import type { Candidate } from './candidates.ts';
import { readEnvelope, type Envelope } from '../reply/envelope.ts';
import { isJsonObject, type Json } from '../../json/json.ts';
import { jsonEquals } from '../schema/json-types.ts';
import type { ToolNames } from '../reply/tool-names.ts';

/** A candidate with what it says and how good a reply it makes; higher is better. */
export interface Ranked {
  readonly candidate: Candidate;
  readonly envelope: Envelope | undefined;
  readonly rank: number;
}

/** The best candidate, or several of equal rank and different value, or nothing. */
export type Choice =
  | { readonly kind: 'one'; readonly chosen: Ranked }
  | { readonly kind: 'several'; readonly tied: readonly Ranked[] }
  | { readonly kind: 'none' };

/** Ranks candidates: what acts or answers over what only thinks, envelopes over bare data, unfenced over fenced. */
export function chooseCandidate(candidates: readonly Candidate[], tools: ToolNames | undefined): Choice {
  const ranked = candidates.map((candidate) => {
    const envelope = readEnvelope(candidate.value, tools, { complete: candidate.complete, repaired: true });
    return { candidate, envelope, rank: rankOf(candidate, envelope) };
  });
  const top = ranked.reduce((highest, { rank }) => Math.max(highest, rank), 0);
  const best = ranked.filter(({ rank }) => rank === top);
  const [chosen] = best;
  if (chosen === undefined || top === 0) return { kind: 'none' };
  const different = best.some(({ candidate }) => !sameValue(candidate.value, chosen.candidate.value));
  return different ? { kind: 'several', tied: best } : { kind: 'one', chosen };
}

function sameValue(a: Json, b: Json): boolean {
  return a === b || jsonEquals(a, b);
}

function rankOf(candidate: Candidate, envelope: Envelope | undefined): number {
  const outside = candidate.fenced ? 0 : 1;
  if (envelope !== undefined) {
    const acts = envelope.calls.length > 0 || envelope.plan !== undefined || envelope.answer !== undefined;
    return (acts || envelope.planError !== undefined ? 30 : 20) + outside;
  }
  if (isJsonObject(candidate.value)) return (Object.keys(candidate.value).length > 0 ? 10 : 4) + outside;
  return 6 + outside;
}
