import { type Recording, lineNumber } from '../../journal/format/recording.ts';
import { runnable } from '../../journal/format/recorded-tools.ts';
import { layOut, painter, type Style } from '../../output/console/paint.ts';
import type { Terminal } from '../../output/console/terminal.ts';
import { deltaReader } from '../../journal/format/deltas.ts';
import type { RecordLine, StartRecord } from '../../journal/format/record.ts';
import { counted } from '../../terminal/text-width.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';

/** How much of a text is shown unless all is asked for. */
const LINES = 3;
const CHARS = 300;
const LABEL = 12;
/** What is cut off is worth more than the words that say so. */
const WORTH_CUTTING = 60;

/** A recording as people read it: what was asked, then step by step what happened, with lines and times. */
export function recordingText(recording: Recording, terminal: Terminal, { full }: { readonly full: boolean }): string {
  const { head } = runnable(recording);
  const warnings = [head.warnings].flat().join('\n'); // A recording may lack them.
  const paint = painter(terminal.color);
  const row = (label: string, text: string): readonly string[] =>
    layOut({ indent: 0, label, labelStyle: 'dim', labelWidth: LABEL, ...cut(text, full) }, terminal, paint);
  const steps = recordedSteps(recording);
  const places = steps.map(({ line, at }) => `${String(line).padStart(4)} ${timeText(at).padStart(8)}  `);
  const what = Math.max(0, ...steps.map((step) => step.what.length)) + 2;
  return [
    ...row('Run', head.runId),
    ...row('Agent', head.agent),
    ...row('Began', head.at),
    ...row('Asked', head.input),
    ...row('Tools', head.toolset.tools.map(({ name }) => name).join(', ') || 'none'),
    ...(Object.keys(head.metadata).length === 0 ? [] : row('Metadata', JSON.stringify(head.metadata))),
    ...(warnings === '' ? [] : row('Warnings', warnings)),
    '',
    paint('dim', `line     time  what happened`),
    ...steps.flatMap((step, index) =>
      layOut(
        {
          indent: 0,
          label: `${places[index] ?? ''}${step.what.padEnd(what)}`,
          labelStyle: step.style ?? 'bold',
          ...cut(step.text, full),
        },
        terminal,
        paint,
      ),
    ),
    ...(recording.lines.some(({ t }) => t === 'end') ? [] : ['', paint('yellow', 'It has not ended.')]),
  ].join('\n');
}

/** Output that does not go to a terminal is not cut by the terminal's width. */
function cut(text: string, full: boolean): { readonly text: string; readonly maxLines?: number } {
  if (full) return { text };
  return {
    text:
      text.length > CHARS + WORTH_CUTTING ? `${text.slice(0, CHARS)} … ${text.length - CHARS} more characters` : text,
    maxLines: LINES,
  };
}

function timeText(ms: number): string {
  if (ms < 10_000) return `${ms} ms`;
  return ms < DAY_MS ? `${(ms / 1000).toFixed(1)} s` : `${(ms / DAY_MS).toFixed(1)} d`;
}

const DAY_MS = 86_400_000;

/** A record as people read it. */
interface Step {
  readonly line: number;
  /** Milliseconds since the beginning. */
  readonly at: number;
  readonly what: string;
  readonly text: string;
  readonly style?: Style;
}

/** The steps of a recording, one a record, remarks left out. */
export function recordedSteps(recording: Recording): readonly Step[] {
  const restore = deltaReader(recording.head);
  const started = new Map<string, StartRecord>();
  return recording.lines.flatMap((record, index) => {
    if (record.t === 'start') started.set(record.id, record);
    const said = describe(record, restore, started);
    if (said === null || record.t === 'run') return [];
    return [{ line: lineNumber(recording, index), at: record.at, ...said }];
  });
}

type Said = Pick<Step, 'what' | 'text' | 'style'>;

function describe(
  record: RecordLine,
  restore: ReturnType<typeof deltaReader>,
  started: ReadonlyMap<string, StartRecord>,
): Said | null {
  switch (record.t) {
    case 'start':
      return record.ms === undefined
        ? startText(record, restore(record.id, record.request ?? null))
        : { what: 'timer set', text: `${record.ms} ms`, style: 'dim' };
    case 'outcome':
      return outcomeText(record, started.get(record.id)?.name ?? '');
    case 'timer':
      return { what: 'timer fired', text: '', style: 'dim' };
    case 'event':
      return eventText(record.event, record.to);
    case 'end':
      return endText(record.output);
    case 'note':
    case 'run':
      return null;
    default:
      return { what: 'resumed', text: 'it was waiting, or its process had ended', style: 'yellow' };
  }
}

function startText({ id, name, effects }: StartRecord, request: Json): Said {
  const asked = isJsonObject(request) ? request : {};
  switch (name) {
    case 'callLlm':
      return { what: 'asks model', text: childOf(id) + requestText(asked) };
    case 'callTool':
      return {
        what: 'calls tool',
        text: `${childOf(id)}${jsonText(asked['tool'])}(${compact(asked['args'])}) · ${effects}`,
        style: 'cyan',
      };
    case 'askApproval':
      return {
        what: 'asks you',
        text: `${childOf(id)}May ${jsonText(asked['tool'])}(${compact(asked['args'])}) run? (${jsonText(asked['callId'])})`,
        style: 'yellow',
      };
    default:
      return { what: 'starts', text: `${name} · ${pathBelowRoot(id)}`, style: 'dim' };
  }
}

/** How long the conversation is, and its newest message. */
function requestText({ messages, tools }: JsonObject): string {
  const list: readonly Json[] = Array.isArray(messages) ? messages : [];
  const last = list.at(-1);
  const newest = isJsonObject(last) ? ` … ${jsonText(last['role'])}: ${jsonText(last['content'])}` : '';
  return `${counted(list.length, 'message')}, ${counted(Array.isArray(tools) ? tools.length : 0, 'tool')}${newest}`;
}

function outcomeText(record: Extract<RecordLine, { t: 'outcome' }>, name: string): Said {
  const who = name === 'callLlm' ? 'model' : name === 'callTool' ? 'tool' : name;
  if (!record.ok) return { what: `${who} failed`, text: `${record.error.code}: ${record.error.message}`, style: 'red' };
  const value = isJsonObject(record.value) ? record.value : {};
  if (name === 'callLlm') return { what: 'model says', text: replyText(value) };
  if (name === 'callTool')
    return { what: 'tool returns', text: resultText(value), ...(value['status'] === 'error' ? { style: 'red' } : {}) };
  if (name === 'askApproval') return { what: 'you say', text: jsonText(value['decision']), style: 'yellow' };
  return { what: 'done', text: `${name}: ${compact(record.value)}`, style: 'dim' };
}

function replyText({ content, toolCalls }: JsonObject): string {
  const calls = (Array.isArray(toolCalls) ? toolCalls : []).map((call: Json) =>
    isJsonObject(call) ? `${jsonText(call['name'])}(${jsonText(call['arguments'])})` : compact(call),
  );
  return [jsonText(content), ...calls].filter((part) => part !== '').join('\n') || '(nothing)';
}

function resultText(result: JsonObject): string {
  const { status, data, error, message, ...rest } = result;
  const more = Object.keys(rest).length === 0 ? '' : ` ${compact(rest)}`;
  return `${jsonText(status)}: ${jsonText(error ?? message ?? '')}${data === undefined ? '' : jsonText(data)}${more}`.trim();
}

function eventText({ type, ...rest }: JsonObject, to: string | undefined): Said {
  const [what, style] = EVENTS[jsonText(type)] ?? ['event', 'dim'];
  const said = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== false));
  const parts = [what === 'event' ? jsonText(type) : '', to === undefined ? '' : pathBelowRoot(to), compact(said)];
  return { what, text: parts.filter((part) => part !== '').join(' '), style };
}

/** The path of an actor without the root, which is the same everywhere. */
function pathBelowRoot(path: string): string {
  return path.slice(path.indexOf('/') + 1);
}

/** Where in the tree of agents something is started: nothing for the root agent, else what leads to the child. */
function childOf(id: string): string {
  const owner = id.split('/').slice(1, -2).join('/');
  return owner === '' ? '' : `[${owner}] `;
}

const EVENTS: Readonly<Record<string, readonly [string, Style]>> = {
  'approval.given': ['approved', 'yellow'],
  'approval.refused': ['refused', 'yellow'],
  'run.cancelled': ['cancelled', 'yellow'],
};

function endText(output: Json): Said {
  const { status, reason, result } = isJsonObject(output) ? output : {};
  const style = status === 'answered' ? 'green' : 'red';
  return { what: 'ends', text: `${jsonText(status)} (${jsonText(reason)}): ${jsonText(result)}`, style };
}

/** A text as it is, anything else as JSON. */
function jsonText(value: Json | undefined): string {
  return typeof value === 'string' ? value : compact(value);
}

function compact(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  const json = JSON.stringify(value);
  return json === '{}' ? '' : json;
}
