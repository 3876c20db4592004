import { type Json, isJsonObject } from '../../json/json.ts';

/** A place where two values differ; `undefined` where a side has nothing there. */
interface Difference {
  /** JSON Pointer. */
  readonly path: string;
  readonly recorded: Json | undefined;
  readonly now: Json | undefined;
}

const SHOWN = 60;
const LINE = 120;
const MAX_PLACES = 6;
const MAX_LINES = 6;

/** The JSON Pointer of the first place where two values differ, with both values there; empty when they are equal. */
export function firstDifference(recorded: Json | undefined, now: Json | undefined): string {
  const [first] = differences(recorded, now);
  if (first === undefined) return '';
  if (typeof first.recorded === 'string' && typeof first.now === 'string')
    return `${first.path}: ${aroundDifference(first.recorded, first.now)}`;
  return `${first.path}: ${shown(first.recorded)} → ${shown(first.now)}`;
}

/**
 * What differs between two values, to be read by people: each place with its recorded lines after `-` and the ones of now
 * after `+`. At most six places, six lines a side.
 */
export function readableDiff(recorded: Json | undefined, now: Json | undefined): string {
  const found = differences(recorded, now);
  const places = found.slice(0, MAX_PLACES).map(placeText);
  const left = found.length - places.length;
  return [...places, ...(left > 0 ? [`… and ${left} more`] : [])].join('\n');
}

/** Every place in which two values differ, in order. Lists are compared from both ends, so an insertion is one place. */
function differences(recorded: Json | undefined, now: Json | undefined, path = ''): readonly Difference[] {
  if (Object.is(recorded, now)) return [];
  if (isList(recorded) && isList(now)) return listDifferences(recorded, now, path);
  if (isJsonObject(recorded) && isJsonObject(now)) {
    const keys = [...new Set([...Object.keys(recorded), ...Object.keys(now)])];
    return keys.flatMap((key) => differences(recorded[key], now[key], `${path}/${escaped(key)}`));
  }
  return [{ path, recorded, now }];
}

function listDifferences(recorded: readonly Json[], now: readonly Json[], path: string): readonly Difference[] {
  let tail = 0;
  if (recorded.length !== now.length)
    while (
      tail < Math.min(recorded.length, now.length) &&
      differences(recorded.at(-1 - tail), now.at(-1 - tail)).length === 0
    )
      tail++;
  const length = Math.max(recorded.length, now.length) - tail;
  const item = (list: readonly Json[], index: number): Json | undefined =>
    index < list.length - tail ? list[index] : undefined;
  return Array.from({ length }).flatMap((_, index) =>
    differences(item(recorded, index), item(now, index), `${path}/${index}`),
  );
}

function placeText({ path, recorded, now }: Difference): string {
  const [before, after] = [linesOf(recorded), linesOf(now)];
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail))
    tail++;
  const side = (mark: string, lines: readonly string[]): readonly string[] => {
    const changed = lines.slice(head, lines.length - tail);
    const rest = changed.length - MAX_LINES;
    const cut = changed.slice(0, MAX_LINES).map((line) => `  ${mark} ${cutLine(line)}`);
    return rest > 0 ? [...cut, `  ${mark} … ${rest} more line(s)`] : cut;
  };
  return [path === '' ? '/' : path, ...side('-', before), ...side('+', after)].join('\n');
}

function linesOf(value: Json | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? value.split('\n') : JSON.stringify(value, null, 1).split('\n');
}

function cutLine(line: string): string {
  return line.length > LINE ? `${line.slice(0, LINE)}…` : line;
}

function aroundDifference(recorded: string, now: string): string {
  let at = 0;
  while (at < recorded.length && recorded[at] === now[at]) at++;
  const from = Math.max(0, at - 20);
  const lead = from === 0 ? '' : '…';
  const piece = (text: string): string =>
    JSON.stringify(`${lead}${text.slice(from, from + SHOWN)}${text.length > from + SHOWN ? '…' : ''}`);
  return `${piece(recorded)} → ${piece(now)}`;
}

function shown(value: Json | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
