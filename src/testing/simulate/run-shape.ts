import type { RecordLine } from '../../journal/format/record.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { textAt } from '../explore/walk/story.ts';

/**
 * What a run was like, without its contents: each three records in a row, by what was started, which tool, how it ended
 * and what came from outside. A run without a new one takes the machines a known way, but for rare guards.
 */
export function patternsIn({ lines }: Recording): ReadonlySet<string> {
  const steps = new Set<string>();
  let [last, before, owner] = ['', '', ''];
  for (const line of lines) {
    const own = ownerOfLine(line);
    const shape = `${own === owner ? '' : '/'}${shapeOf(line)}`;
    steps.add(`${before} ${last} ${shape}`);
    [before, last, owner] = [last, shape, own];
  }
  return steps;
}

function ownerOfLine(line: RecordLine): string {
  if (line.t === 'event') return line.to ?? '';
  return 'id' in line ? line.id.slice(0, line.id.lastIndexOf('/')) : '';
}

function shapeOf(line: RecordLine): string {
  switch (line.t) {
    case 'start':
      return `${line.name} ${textAt(line.request, 'tool')}`;
    case 'outcome':
      return `${nameIn(line.id)} ${line.ok ? valueShape(line.value) : line.error.code}`;
    case 'event':
      return line.event.type;
    case 'end':
      return `end ${textAt(line.output, 'reason')}`;
    default:
      return line.t;
  }
}

/** `callTool` of `agent/c1/callTool#2`. */
function nameIn(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1, id.lastIndexOf('#'));
}

/** A reply by the tools that it calls, a verdict by what it says. */
function valueShape(value: Json): string {
  if (!isJsonObject(value)) return typeof value;
  const { toolCalls, ok, content } = value;
  const calls = Array.isArray(toolCalls) ? toolCalls.map((call) => textAt(call, 'name')).join() : '';
  const said = ['finishReason', 'status', 'decision', 'kind'].map((key) => textAt(value, key)).join('');
  return `${calls}${content === undefined || content === '' ? '' : ' text'}${said}${typeof ok === 'boolean' ? String(ok) : ''}`;
}
