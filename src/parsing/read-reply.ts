import type { Dialect } from './dialects/dialect.ts';
import { DialectSource } from './dialects/dialect-source.ts';
import { MARKED_DIALECTS, UNMARKED_DIALECTS } from './dialects/index.ts';
import { readEnvelope } from './envelope.ts';
import { readFields } from './fields.ts';
import { resolveLimits } from './limits.ts';
import { parsePrefix } from './prefix.ts';
import { readDialect } from './read-dialect.ts';
import { readMixed } from './read-mixed.ts';
import { firstVisible } from './read-values.ts';
import { confidenceOf, replyOf } from './reply-of.ts';
import { type Meter, type ParseReplyOptions, replySource, type ReplySource } from './reply-source.ts';
import type { Repair, Reply } from './reply.ts';
import { parseStrict } from './strict-json.ts';
import { stripTokens } from './strip-tokens.ts';
import { NO_TOOLS, toolNames } from './tool-names.ts';

/** Reads a reply by the first strategy that fits, and counts the characters that were looked at. */
export function readReply(raw: unknown, options: ParseReplyOptions | undefined, meter: Meter): Reply {
  const text = typeof raw === 'string' ? raw : '';
  const direct = readDirect(text, options);
  if (direct !== undefined) return direct;
  const source = replySource(text, options, meter);
  return (
    readWhole(source) ??
    readInDialect(source, MARKED_DIALECTS) ??
    readMixed(source) ??
    readInDialect(source, UNMARKED_DIALECTS) ??
    readByFields(source) ??
    readText(source)
  );
}

/** Valid JSON is taken as it stands. */
function readDirect(text: string, options: ParseReplyOptions | undefined): Reply | undefined {
  const { maxChars, maxDepth } = resolveLimits(options?.limits);
  const strict = text.length > maxChars ? undefined : parseStrict(text, maxDepth);
  if (strict === undefined) return undefined;
  const envelope = readEnvelope(strict.value, toolNames(options?.tools), true);
  return envelope && replyOf(envelope, { strategy: 'direct', complete: true, repairs: [], thinking: '' });
}

/** The whole message is JSON, the beginning of it, or JSON written as a string. */
function readWhole(source: ReplySource): Reply | undefined {
  const { text, end, maxDepth, tools, repairs, thinking } = source;
  const from = firstVisible(text);
  const prefix = parsePrefix(text, from, { to: end, maxDepth });
  source.meter.steps += prefix.end - from;
  if (
    prefix.kind === 'invalid' ||
    (prefix.kind === 'whole' && firstVisible(text.slice(prefix.end, end)) < end - prefix.end)
  ) {
    return undefined;
  }
  const complete = prefix.kind === 'whole' && source.complete;
  const inner = typeof prefix.value === 'string' ? parseStrict(prefix.value, maxDepth) : undefined;
  const envelope = readEnvelope(inner === undefined ? prefix.value : inner.value, tools, complete);
  if (envelope === undefined) return undefined;
  if (inner === undefined) return replyOf(envelope, { strategy: 'direct', complete, repairs, thinking });
  return replyOf(envelope, { strategy: 'repaired', complete, repairs: [...repairs, decodedAt(from)], thinking });
}

function decodedAt(at: number): Repair {
  return { kind: 'double-encoded', message: 'JSON written as a string was decoded', at, cost: 1 };
}

/** Tool calls in a format of the model's own. */
function readInDialect(source: ReplySource, dialects: readonly Dialect[]): Reply | undefined {
  const { text, end, maxDepth, thinking, meter } = source;
  const dialectSource = new DialectSource(text, end, { maxDepth, tools: source.tools ?? NO_TOOLS });
  const found = readDialect(dialectSource, dialects);
  meter.steps += dialectSource.steps + dialectSource.landmarks.steps;
  if (found === undefined) return undefined;
  const { calls, thought = thinking, answer, complete } = found.reading;
  const repairs = [...source.repairs, ...found.reading.repairs];
  return {
    thought,
    goal: '',
    calls,
    strategy: 'dialect',
    dialect: found.dialect,
    complete: complete && source.complete,
    confidence: confidenceOf(repairs, { strategy: 'dialect' }),
    repairs,
    ...(answer === undefined ? {} : { answer }),
  };
}

/** The envelope's fields without an object around them that could be read. */
function readByFields(source: ReplySource): Reply | undefined {
  const { text, end, maxDepth, tools, thinking } = source;
  const found = readFields(text, { from: 0, to: end, maxDepth });
  if (found === undefined) return undefined;
  source.meter.steps += found.steps;
  const envelope = readEnvelope(found.value, tools, found.complete);
  if (envelope?.form !== 'envelope') return undefined;
  const complete = found.complete && source.complete;
  return replyOf(envelope, { strategy: 'fields', complete, repairs: [...source.repairs, ...found.repairs], thinking });
}

/** Plain conversation: the text is the answer. */
function readText(source: ReplySource): Reply {
  const answer = stripTokens(source.text.slice(0, source.end)).trim();
  return {
    thought: source.thinking,
    goal: '',
    calls: [],
    strategy: 'text',
    complete: source.complete,
    confidence: 'high',
    repairs: source.repairs,
    ...(answer === '' ? {} : { answer }),
  };
}
