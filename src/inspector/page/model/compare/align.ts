/** Two places that belong together, one in each list. */
interface Match {
  readonly left: number;
  readonly right: number;
}

/** How many edits a stretch may need; of one that needs more, what was reached furthest is kept, and the search continues there. */
const MOST_EDITS = 256;

/**
 * The longest way through two lists on which they agree, in order (Myers' difference algorithm). Lists that have little in
 * common cost no more than their length times 256 edits; what is found of them is then good, not always the best.
 */
export function align(left: readonly string[], right: readonly string[]): readonly Match[] {
  const ids = new Map<string, number>();
  const numbered = (list: readonly string[]): Int32Array =>
    Int32Array.from(list, (key) => {
      const id = ids.get(key) ?? ids.size;
      ids.set(key, id);
      return id;
    });
  const [a, b] = [numbered(left), numbered(right)];
  const matches: Match[] = [];
  const shorter = Math.min(a.length, b.length);
  // What is alike before anything differs belongs together, also where it could stand later just as well.
  let begun = 0;
  while (begun < shorter && a[begun] === b[begun]) matches.push({ left: begun, right: begun++ });
  let end = 0;
  while (end < shorter - begun && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const ends = { a: a.length - end, b: b.length - end };
  for (let from: Match = { left: begun, right: begun }; from.left < ends.a && from.right < ends.b;)
    from = stretch(a, b, { from, ends, matches });
  for (let at = 0; at < end; at++) matches.push({ left: ends.a + at, right: ends.b + at });
  return matches;
}

interface Stretch {
  readonly from: Match;
  readonly ends: { readonly a: number; readonly b: number };
  readonly matches: Match[];
}

/** Finds the matches from a place on, up to the ends or as far as the edits reach, and says where that is. */
function stretch(a: Int32Array, b: Int32Array, { from, ends, matches }: Stretch): Match {
  const [n, m] = [ends.a - from.left, ends.b - from.right];
  const most = Math.min(MOST_EDITS, n + m);
  const reach = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  const zero = most + 1;
  for (let edits = 0; edits <= most; edits++) {
    trace.push(reach.slice(zero - edits - 1, zero + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const [down, across] = [reach[zero + k + 1] ?? 0, (reach[zero + k - 1] ?? 0) + 1];
      let x = k === -edits || (k !== edits && across <= down) ? down : across;
      while (x < n && x - k < m && a[from.left + x] === b[from.right + x - k]) x++;
      reach[zero + k] = x;
      if (x >= n && x - k >= m) return walkBack(trace, { x: n, k: n - m }, { from, matches });
    }
  }
  return walkBack(...furthest(trace, reach, { n, m, zero }), { from, matches });
}

/** The place with the most behind it, of those that the edits have reached, and the trace that leads there. */
function furthest(
  trace: readonly Int32Array[],
  reach: Int32Array,
  { n, m, zero }: { readonly n: number; readonly m: number; readonly zero: number },
): readonly [readonly Int32Array[], { readonly x: number; readonly k: number }] {
  const edits = trace.length - 1;
  let best = { x: -1, k: 0 };
  for (let k = -edits; k <= edits; k++) {
    const x = reach[zero + k] ?? 0;
    if (x <= n && x - k <= m && 2 * x - k > 2 * best.x - best.k) best = { x, k };
  }
  // Every second diagonal was last reached with one edit less.
  return [(edits - best.k) % 2 === 0 ? trace : trace.slice(0, -1), best];
}

/** Reads the way to a place out of what was reached with how many edits. */
function walkBack(
  trace: readonly Int32Array[],
  end: { readonly x: number; readonly k: number },
  { from, matches }: Pick<Stretch, 'from' | 'matches'>,
): Match {
  const found: Match[] = [];
  let { x, k } = end;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits] ?? new Int32Array(0);
    const at = (diagonal: number): number => reach[edits + 1 + diagonal] ?? 0;
    const isDown = edits > 0 && (k === -edits || (k !== edits && at(k - 1) + 1 <= at(k + 1)));
    const before = edits === 0 ? 0 : isDown ? at(k + 1) : at(k - 1);
    const begun = edits === 0 ? 0 : isDown ? before : before + 1;
    while (x > begun && x - k > begun - k) {
      x -= 1;
      found.push({ left: from.left + x, right: from.right + x - k });
    }
    if (edits === 0) break;
    k = isDown ? k + 1 : k - 1;
    x = before;
  }
  matches.push(...found.toReversed());
  return { left: from.left + end.x, right: from.right + end.x - end.k };
}

/** Finds what is between the common beginning and the common end of two texts. Characters of two halves are never cut. */
export function textDifference(left: string, right: string) {
  const shorter = Math.min(left.length, right.length);
  let head = 0;
  while (head < shorter && left[head] === right[head]) head++;
  if (isHigh(left, head - 1)) head--;
  let tail = 0;
  while (tail < shorter - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail++;
  if (isHigh(left, left.length - tail - 1) || isHigh(right, right.length - tail - 1)) tail--;
  tail = Math.max(0, tail);
  return {
    head: left.slice(0, head),
    left: left.slice(head, left.length - tail),
    right: right.slice(head, right.length - tail),
    tail: left.slice(left.length - tail),
  };
}

function isHigh(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xd800 && code < 0xdc00;
}
