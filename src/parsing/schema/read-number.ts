const PLAIN = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const GROUPED = /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;
const UNDERSCORED = /^[+-]?\d+(?:_\d+)+(?:\.\d+(?:_\d+)*)?$/;
const FRACTION = /^([+-]?\d+(?:\.\d+)?)\s*\/\s*(\d+(?:\.\d+)?)$/;
const LONGEST = 400;

/** The number that a text spells: `12`, `120.0`, `05`, `1,234.5`, `82_461`, `1/5`. Undefined for anything else. */
export function readNumber(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > LONGEST) return undefined;
  if (PLAIN.test(trimmed)) return finite(Number(trimmed));
  if (GROUPED.test(trimmed)) return finite(Number(trimmed.replaceAll(',', '')));
  if (UNDERSCORED.test(trimmed)) return finite(Number(trimmed.replaceAll('_', '')));
  const fraction = FRACTION.exec(trimmed);
  return fraction === null ? undefined : finite(Number(fraction[1]) / Number(fraction[2]));
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}
