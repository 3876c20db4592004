const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** A line on which nothing is called and nothing thrown: no stack names it. */
const SILENT = /^\s*(?:[)\]};,\s]*|(?:\} )?else \{|try \{|\} finally \{|default:|break;|continue;|return;)$/;

/**
 * The mappings of a source map without columns, and without lines that no stack names: what is left leads each place to
 * its file and line, in a fifth of the room. Takes and gives the field `mappings`, as the format's version 3 encodes it.
 */
export function lineMappings(mappings: string, code: string): string {
  const lines = code.split('\n');
  let [source, line] = [0, 0];
  let [keptSource, keptLine] = [0, 0];
  return mappings
    .split(';')
    .map((segments, row) => {
      let [at, keptAt] = [0, 0];
      let first = true;
      const kept: string[] = [];
      for (const segment of segments === '' ? [] : segments.split(',')) {
        const [byAt = 0, bySource, byLine = 0] = decoded(segment);
        at += byAt;
        if (bySource === undefined) continue;
        [source, line] = [source + bySource, line + byLine];
        if (SILENT.test(lines[row] ?? '') || (!first && source === keptSource && line === keptLine)) continue;
        const from = first ? 0 : at;
        first = false;
        kept.push([from - keptAt, source - keptSource, line - keptLine, 0].map(encoded).join(''));
        [keptAt, keptSource, keptLine] = [from, source, line];
      }
      return kept.join(',');
    })
    .join(';');
}

/** Numbers in base 64: five bits a digit, the lowest first, the sixth says that more follow; the first bit is the sign. */
function decoded(segment: string): readonly number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits >= 32) continue;
    numbers.push(value % 2 === 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

function encoded(number: number): string {
  let rest = number < 0 ? -number * 2 + 1 : number * 2;
  let text = '';
  do {
    text += DIGITS.charAt((rest & 31) + (rest > 31 ? 32 : 0));
    rest >>>= 5;
  } while (rest > 0);
  return text;
}
