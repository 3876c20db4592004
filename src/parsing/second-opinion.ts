import { jsonrepair } from 'jsonrepair';
import type { Candidate } from './candidates.ts';
import { totalCost } from './reply-of.ts';
import { jsonEquals } from './schema/json-types.ts';
import { parseStrict } from './strict-json.ts';

/** jsonrepair is slower than linear and recursive: it is asked about short and shallow texts only. */
const LONGEST = 4_000;
const DEEPEST = 40;
/** Cheaper repairs leave no doubt. */
const DOUBTFUL = 2;

/** What jsonrepair makes of the span of a mended candidate. Never asked about what was cut off. */
export function secondOpinion(text: string, found: Candidate): 'agrees' | 'differs' | undefined {
  if (found.strict || !found.complete || found.to - found.from > LONGEST || totalCost(found.repairs) < DOUBTFUL)
    return undefined;
  const span = text.slice(found.from, found.to);
  if (openings(span) > DEEPEST) return undefined;
  const other = repaired(span);
  if (other === undefined) return undefined;
  return jsonEquals(other.value, found.value) ? 'agrees' : 'differs';
}

function openings(text: string): number {
  let open = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === 123 || code === 91 || code === 40) deepest = Math.max(deepest, (open += 1));
    else if (code === 125 || code === 93 || code === 41) open -= 1;
  }
  return deepest;
}

function repaired(text: string): ReturnType<typeof parseStrict> {
  try {
    return parseStrict(jsonrepair(text), DEEPEST * 2);
  } catch {
    return undefined;
  }
}
