import type { RecordLine } from '../../journal/format/record.ts';

/** A place in a record where a text occurs. */
export interface FoundText {
  /** What the record is: `prompt`, `request callLlm`, `reply callTool`, or the type of an event. */
  readonly where: string;
  readonly excerpt: string;
}

const BEFORE = 40;
const AFTER = 80;

/** A search text as it is written in JSON, in lower case; empty for a blank one. */
export function wantedText(query: string): string {
  return JSON.stringify(query.trim()).slice(1, -1).toLowerCase();
}

/** Where the wanted text occurs in a record, ignoring case; null for nowhere. Digests, keys and clocks are not looked at. */
export function findInRecord(record: RecordLine, wanted: string): FoundText | null {
  const excerpt = excerptOf(JSON.stringify(contentOf(record)), wanted);
  return excerpt === null ? null : { where: nameOf(record), excerpt };
}

/** The wanted text with what stands around it; null where it does not occur. */
export function excerptOf(text: string, wanted: string): string | null {
  const at = text.toLowerCase().indexOf(wanted);
  if (at < 0) return null;
  const from = Math.max(0, at - BEFORE);
  return `${from > 0 ? '…' : ''}${text.slice(from, at + wanted.length + AFTER)}`;
}

function contentOf(record: RecordLine): unknown {
  switch (record.t) {
    case 'run': {
      const { input, instructions, history, metadata } = record;
      return { input, instructions, history, metadata };
    }
    case 'start':
      return record.request ?? {};
    case 'outcome':
      return record.ok ? record.value : record.error;
    case 'event':
      return record.event;
    case 'end':
      return record.output;
    case 'note':
      return record.note;
    case 'timer':
    case 'restart':
      return null;
  }
}

function nameOf(record: RecordLine): string {
  switch (record.t) {
    case 'run':
      return 'prompt';
    case 'start':
      return `request ${record.name}`;
    case 'outcome':
      return `reply ${leafOf(record.id)}`;
    case 'event':
      return record.event.type;
    default:
      return record.t;
  }
}

/** `callLlm` of `agent/llmCall/callLlm#2`. */
function leafOf(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1).replace(/#.*$/, '');
}
