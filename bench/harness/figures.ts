/** The middle value; of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? Number.NaN)) / 2;
}

/** Lowest and highest value, as `low–high`. */
export function spread(values: readonly number[], digits: number): string {
  return `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`;
}

/** Milliseconds of CPU that this process has used so far, all its threads together. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The first number on the command line. */
export function numberGiven(otherwise: number): number {
  return Number(process.argv.slice(2).find((arg) => /^\d+$/.test(arg)) ?? otherwise);
}

/** One of some values as a multiple of another, of their medians. */
export function times(values: readonly number[], of: readonly number[]): string {
  return (median(values) / median(of)).toFixed(2);
}

/** Prints a Markdown table, its columns aligned. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)));
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  console.log([line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n'));
}

/** Collects garbage, where Node was started with `--expose-gc`; throws where it was not, for the figures would lie. */
export function collectGarbage(): void {
  if (globalThis.gc === undefined) throw new Error('Start it with node --expose-gc.');
  globalThis.gc();
}
