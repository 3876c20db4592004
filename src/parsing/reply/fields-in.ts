import { type Envelope, isArgumentKey, readEnvelope } from './envelope.ts';
import { type Fields, readFields } from '../recover/fields.ts';
import { isJsonObject } from '../../json/json.ts';
import { isKnown } from './tool-names.ts';
import type { ReplySource } from './reply-source.ts';
import type { Scan } from './scan.ts';

/** The envelope's fields in a message without an object around them that could be read; undefined where none are. */
export function fieldsIn(
  from: ReplySource,
  scan: Scan,
): { readonly found: Fields; readonly envelope: Envelope } | undefined {
  const { source } = from;
  const found = readFields(openText(source.text, scan), { from: scan.from, to: source.end, maxDepth: source.maxDepth });
  if (found === undefined) return undefined;
  source.effort += found.steps;
  const envelope = envelopeOf(found, from);
  return envelope?.form === 'envelope' ? { found, envelope } : undefined;
}

/**
 * What fields without braces say. A call must name a registered tool and have arguments, and is whole only where these
 * are closed at the very end: a line may have been cut anywhere.
 */
function envelopeOf(found: Fields, { source, tools }: ReplySource): Envelope | undefined {
  const envelope = readEnvelope(found.value, tools, { complete: found.complete, repaired: true });
  const [call] = envelope?.calls ?? [];
  if (envelope === undefined || envelope.form !== 'envelope' || call === undefined) return envelope;
  const hasArguments = isJsonObject(found.value) && Object.keys(found.value).some(isArgumentKey);
  if (!hasArguments || !isKnown(tools, call.name)) return undefined;
  const closed = source.text.slice(0, source.end).trimEnd().endsWith('}');
  return closed ? envelope : { ...envelope, calls: envelope.calls.map((cut) => ({ ...cut, complete: false })) };
}

/** The text with what nobody looks into blanked out, so that every place stays where it is. */
function openText(text: string, { closed: spans, pieces }: Scan): string {
  const owned = [...spans, ...pieces.filter(({ talk }) => talk !== null)].toSorted((a, b) => a.from - b.from);
  const parts: string[] = [];
  let at = 0;
  for (const { from, to } of owned) {
    if (from < at) continue;
    parts.push(text.slice(at, from), ' '.repeat(to - from));
    at = to;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(at);
}
