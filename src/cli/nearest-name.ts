import { isOneEditAway } from '../parsing/schema/near-key.ts';

/** The name that was probably meant: the same but for case, one slip away, or one that contains the other. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const lower = written.toLowerCase();
  return (
    names.find((name) => name.toLowerCase() === lower) ??
    names.find((name) => isOneEditAway(name, lower)) ??
    names.find((name) => lower.length > 2 && (name.includes(lower) || lower.includes(name)))
  );
}

/** ` Did you mean …?`, or nothing. */
export function didYouMean(written: string, names: readonly string[]): string {
  const name = nearestName(written, names);
  return name === undefined ? '' : ` Did you mean '${name}'?`;
}
