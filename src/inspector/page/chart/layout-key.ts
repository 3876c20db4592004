import type { ChartStyle } from '../../layout/chart-graph.ts';

/** What a layout is kept under: the same drawing in the same style is laid out once, here and in later visits. */
export function layoutKey(hash: string, { direction, labels, collapsed }: ChartStyle): string {
  return [hash, direction, labels ? 'labels' : 'plain', ...[...collapsed].sort()].join('|');
}
