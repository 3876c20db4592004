import { isList } from '../../json/depth.ts';
import { digest } from '../../json/digest.ts';
import { isJsonObject, type Json, plainJson } from '../../json/json.ts';
import type { ToolSpec } from '../../tools/spec.ts';
import type { RunRecord } from '../format/record.ts';
import { definitionHash } from '../format/run-input.ts';

/** Where a replay left its recording. */
export interface Divergence {
  /** Number of the record, counted from 1, the head included; also its line in a file. */
  readonly entry: number;
  /** The machine's state at that moment. */
  readonly state: string;
  readonly expected: string;
  readonly actual: string;
  /** The first place in which the two requests differ, and how; empty where they are of different kinds. */
  readonly difference: string;
  /** All of what differs, over several lines and bounded: `-` as recorded, `+` as it is now. Empty like `difference`. */
  readonly diff: string;
  /** What most likely was changed. */
  readonly cause: DivergenceCause;
}

/**
 * A replay reached a point at which the code does something other than what was recorded: a prompt or a tool was
 * edited, or the code changed. Thrown by the replay, never seen by the machine.
 */
export class ReplayDivergenceError extends Error implements Divergence {
  override readonly name = 'ReplayDivergenceError';
  readonly code = 'replay-divergence';
  declare readonly entry: number;
  declare readonly state: string;
  declare readonly expected: string;
  declare readonly actual: string;
  declare readonly difference: string;
  declare readonly diff: string;
  declare readonly cause: DivergenceCause;

  constructor({ entry, state, expected, actual, difference, diff, cause }: Divergence) {
    const divergence = { entry, state, expected, actual, difference, diff, cause };
    super(textOf(divergence));
    Object.assign(this, divergence);
  }
}

function textOf({ entry, state, expected, actual, difference, diff, cause }: Divergence): string {
  const lines = [
    `The replay left the recording at entry ${entry}, in state ${state}.`,
    `  recorded: ${expected}`,
    `  now:      ${actual}`,
  ];
  if (difference !== '') lines.push(`  first difference: ${difference}`);
  lines.push(`  likely cause: ${CAUSE_TEXTS[cause]}`);
  if (diff !== '') lines.push('  what differs (- recorded, + now):', ...diff.split('\n').map((line) => `    ${line}`));
  return lines.join('\n');
}

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
 * What differs between two values, to be read by people: each place with its recorded lines after `-` and the current
 * ones after `+`. At most six places, six lines a side.
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
    const [was, is] = [recorded, now].map((one) => new Map(Object.entries(one)));
    return keys.flatMap((key) => differences(was?.get(key), is?.get(key), `${path}/${escaped(key)}`));
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
  // Shown, they are the same.
  const alike = recorded.normalize() === now.normalize() ? ' (the same in other code points)' : '';
  return `${piece(recorded)} → ${piece(now)}${alike}`;
}

function shown(value: Json | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** What most likely made a replay leave its recording. */
export type DivergenceCause =
  | 'prompt-edited'
  | 'tool-edited'
  | 'toolset-changed'
  | 'output-schema-edited'
  | 'code-changed'
  | 'conversation-changed'
  | 'reading-changed'
  | 'input-changed'
  | 'recording-cut'
  | 'unknown';

/** The causes in words. */
export const CAUSE_TEXTS: { readonly [cause in DivergenceCause]: string } = {
  'prompt-edited': 'the instructions or the system prompt were edited',
  'tool-edited': 'a tool was edited: its description, schema, policy or limits',
  'toolset-changed': 'a tool was added or removed',
  'output-schema-edited': "the option 'outputSchema' was edited: it was added, removed or asks for something else",
  'code-changed': 'the machines of Signalbox changed: the recording was made by another version',
  'conversation-changed': 'the conversation came out differently: a text that Signalbox or a tool makes was changed',
  'reading-changed': 'the reading of replies changed in 0.2',
  'input-changed': 'the run was given another input',
  'recording-cut': 'the recording was cut, or its run was interrupted; resume or fork it to continue',
  unknown: 'the code or the options were changed',
};

/** What is known when a replay leaves its recording. */
interface Evidence {
  /** The head as recorded, and as this agent would have written it; null where no agent is there. */
  readonly recorded: RunRecord;
  readonly now: RunRecord | null;
  /** The first difference of the requests, beginning with its JSON Pointer; empty without one. */
  readonly difference: string;
  readonly atEnd: boolean;
  /** The last thing that came in was a model's reply, so that what was read in it decided. */
  readonly afterReply: boolean;
}

/** The version of the agent's machine whose replies were read by the rules of 0.1. */
const READ_AS_IN_0_1 = '1';

/** Derives the likely cause from where the requests differ and what changed in agent and machines. */
export function likelyCause({ recorded, now, difference, atEnd, afterReply }: Evidence): DivergenceCause {
  if (atEnd) return 'recording-cut';
  const readOtherwise = afterReply && recorded.machine.version === READ_AS_IN_0_1;
  const tools = toolsChanged(recorded, now);
  if (outputEdited(recorded, now)) return 'output-schema-edited';
  if (now !== null && now.promptByCode !== recorded.promptByCode) return 'prompt-edited';
  const otherMachines = recorded.machine.hash !== definitionHash();
  if (difference.startsWith('/tools') || difference.startsWith('/responseSchema')) return tools ?? 'tool-edited';
  if (difference.startsWith('/messages/0/')) {
    if (now === null || !isToldTheSame(recorded, now) || now.promptByCode) return 'prompt-edited';
    return tools ?? (otherMachines ? 'code-changed' : 'prompt-edited');
  }
  if (readOtherwise) return 'reading-changed';
  if (otherMachines) return 'code-changed';
  if (difference.startsWith('/messages/')) return 'conversation-changed';
  return tools ?? 'unknown';
}

/** Whether an agent has its recorded instructions, and so has each of those below that it still has. */
export function isToldTheSame(was: Told, now: Told): boolean {
  return (
    was.instructions === now.instructions &&
    (was.children ?? []).every(({ tool, setup }) => {
      const child = now.children?.find((one) => one.tool === tool);
      return child === undefined || isToldTheSame(setup, child.setup);
    })
  );
}

type Told = Pick<RunRecord, 'instructions' | 'children'>;

/** The same of the first difference alone, where nothing else is known. */
export function causeOfDifference(difference: string): DivergenceCause {
  if (difference.startsWith('/tools') || difference.startsWith('/responseSchema')) return 'tool-edited';
  if (difference.startsWith('/messages/0/')) return 'prompt-edited';
  return difference.startsWith('/messages/') ? 'conversation-changed' : 'unknown';
}

/** True when the answer is to be something else than was recorded, of this agent or of one below it. */
function outputEdited(recorded: RunRecord, now: RunRecord | null): boolean {
  if (now === null) return false;
  const outputs = ({ output, children = [] }: RunRecord): string =>
    JSON.stringify([output ?? null, ...children.map(({ setup }) => setup.output ?? null)]);
  return outputs(recorded) !== outputs(now);
}

function toolsChanged(recorded: RunRecord, now: RunRecord | null): 'tool-edited' | 'toolset-changed' | null {
  if (now === null) return null;
  const [was, is] = [toolsIn(recorded), toolsIn(now)];
  const names = (tools: typeof was): string => JSON.stringify(tools.map(({ name }) => name).toSorted());
  if (names(was) !== names(is)) return 'toolset-changed';
  return digest(plainJson(was)) === digest(plainJson(is)) ? null : 'tool-edited';
}

/** The tools of an agent and of those below. */
function toolsIn({ toolset, children = [] }: Pick<RunRecord, 'toolset' | 'children'>): readonly ToolSpec[] {
  return [...toolset.tools, ...children.flatMap(({ setup }) => toolsIn(setup))];
}

/** Whether the texts differ by nothing but the marks that stand in a recording for secrets, unknown when it is played. */
export function fitsMarks(recorded: string, now: string): boolean {
  const [first = '', ...parts] = recorded.split(/«secret:\d+»/);
  const last = parts.pop();
  let at = first.length;
  // Each part where it comes first: a regular expression would try all places of all marks.
  for (const part of parts) {
    const found = now.indexOf(part, at + 1);
    if (found === -1) return false;
    at = found + part.length;
  }
  return last !== undefined && now.startsWith(first) && now.endsWith(last) && at < now.length - last.length;
}
