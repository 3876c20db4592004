/** One line of a list in which long stretches of what is the same are folded. */
export type FoldedRow = { readonly kind: 'row'; readonly index: number } | ({ readonly kind: 'fold' } & Fold);

/** Rows that one line stands for. */
export interface Fold {
  readonly from: number;
  readonly count: number;
}

/** So many rows stay in sight before and after each that counts. */
const AROUND = 3;
/** Stretches of fewer rows are not worth a line that stands for them. */
const LEAST = 5;

interface FoldOptions {
  readonly count: number;
  /** True for rows that must be seen. */
  readonly counts: (index: number) => boolean;
  /** The folds that were opened. */
  readonly opened: readonly Fold[];
}

/** Folds the stretches of rows that are far from any that counts. Where none counts, all are shown. */
export function foldRows({ count, counts, opened }: FoldOptions): readonly FoldedRow[] {
  const near = new Uint8Array(count);
  let any = false;
  for (let index = 0; index < count; index++) {
    if (!counts(index)) continue;
    any = true;
    near.fill(1, Math.max(0, index - AROUND), Math.min(count, index + AROUND + 1));
  }
  for (const { from, count: many } of opened) near.fill(1, from, Math.min(count, from + many));
  const rows: FoldedRow[] = [];
  for (let index = 0; index < count;) {
    let end = index;
    while (end < count && near[end] === 0) end++;
    if (any && end - index >= LEAST) rows.push({ kind: 'fold', from: index, count: end - index });
    else for (let at = index; at < end; at++) rows.push({ kind: 'row', index: at });
    for (; end < count && near[end] === 1; end++) rows.push({ kind: 'row', index: end });
    index = end;
  }
  return rows;
}
