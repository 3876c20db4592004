import { type Candidate, findCandidates } from './candidates.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import { readFields } from './fields.ts';
import type { Json } from './json.ts';
import { type Limits, resolveLimits } from './limits.ts';
import { maskReply } from './masks.ts';
import { parsePrefix } from './prefix.ts';
import { chooseCandidate } from './rank.ts';
import type { Repair, Reply, Strategy } from './reply.ts';
import { parseStrict } from './strict-json.ts';
import { stripTokens } from './strip-tokens.ts';
import { type ToolName, type ToolNames, toolNames } from './tool-names.ts';

/** What `parseReply` may be told about the reply that it reads. */
export interface ParseReplyOptions {
  /** The registered tools. Without them, calls count in the envelope only. */
  readonly tools?: readonly ToolName[];
  readonly limits?: Partial<Limits>;
}

/** A text with all that the strategies need to know about it. */
interface Source {
  readonly text: string;
  readonly end: number;
  readonly thinking: string;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  readonly tools: ToolNames | undefined;
  readonly maxDepth: number;
}

/**
 * Reads a model's reply: thought, answer, plan and tool calls, however they are wrapped or broken.
 * Never throws, whatever it is given; its work grows linearly with the text.
 *
 * @example parseReply('Sure!\n```json\n{"tool": "add", "tool_args": {"a": 1}}\n```').calls[0]?.name // 'add'
 */
export function parseReply(text: string, options?: ParseReplyOptions): Reply {
  const limits = resolveLimits(options?.limits);
  const tools = toolNames(options?.tools);
  const given: unknown = text;
  const raw = typeof given === 'string' ? given : '';
  const direct = readDirect(raw, tools, limits);
  if (direct !== undefined) return direct;
  const source = prepare(raw, tools, limits);
  return readWhole(source) ?? readMixed(source) ?? readByFields(source) ?? readText(source);
}

/** Valid JSON is taken as it stands. */
function readDirect(raw: string, tools: ToolNames | undefined, limits: Limits): Reply | undefined {
  if (raw.length > limits.maxChars) return undefined;
  const strict = parseStrict(raw, limits.maxDepth);
  if (strict === undefined) return undefined;
  const envelope = readEnvelope(strict.value, tools, true);
  return envelope === undefined
    ? undefined
    : fromEnvelope(envelope, { strategy: 'direct', complete: true, repairs: [], thinking: '' });
}

function prepare(raw: string, tools: ToolNames | undefined, limits: Limits): Source {
  const tooLong = raw.length > limits.maxChars;
  const read = tooLong ? raw.slice(0, limits.maxChars) : raw;
  const repairs: readonly Repair[] = tooLong
    ? [
        {
          kind: 'too-long',
          message: `only the first ${limits.maxChars} characters were read`,
          at: limits.maxChars,
          cost: 5,
        },
      ]
    : [];
  const masked = maskReply(read);
  const { text, end, thinking } = masked;
  return { text, end, thinking, complete: !tooLong && !masked.openThinking, repairs, tools, maxDepth: limits.maxDepth };
}

/** The whole message is JSON, or the beginning of it. */
function readWhole(source: Source): Reply | undefined {
  const { text, end, maxDepth, tools, complete, repairs, thinking } = source;
  const from = firstVisible(text);
  const prefix = parsePrefix(text, from, { to: end, maxDepth });
  if (prefix.kind === 'invalid' || (prefix.kind === 'whole' && text.slice(prefix.end, end).trim() !== ''))
    return undefined;
  const whole = prefix.kind === 'whole' && complete;
  const inner = typeof prefix.value === 'string' ? parseStrict(prefix.value, maxDepth)?.value : undefined;
  const envelope = readEnvelope(inner ?? prefix.value, tools, whole);
  if (envelope === undefined) return undefined;
  const decoded: Repair = {
    kind: 'double-encoded',
    message: 'JSON written as a string was decoded',
    at: from,
    cost: 1,
  };
  return fromEnvelope(envelope, {
    strategy: inner === undefined ? 'direct' : 'repaired',
    complete: whole,
    repairs: inner === undefined ? repairs : [...repairs, decoded],
    thinking,
  });
}

function firstVisible(text: string): number {
  const found = text.search(/[^\s\u200b\u2060\ufeff]/);
  return found < 0 ? text.length : found;
}

/** JSON somewhere in the message. */
function readMixed(source: Source): Reply | undefined {
  const { text, end, maxDepth, tools } = source;
  const { candidates } = findCandidates(text, { from: 0, to: end, maxDepth });
  const choice = chooseCandidate(candidates, tools);
  if (choice.kind === 'none') return undefined;
  if (choice.kind === 'several')
    return readSeveral(
      source,
      choice.tied.filter(({ envelope }) => envelope !== undefined),
    );
  const { candidate, envelope } = choice.chosen;
  return envelope === undefined ? undefined : fromCandidate(source, candidate, envelope);
}

function fromCandidate(source: Source, candidate: Candidate, envelope: Envelope): Reply {
  return fromEnvelope(envelope, {
    strategy: strategyOf(candidate),
    complete: candidate.complete && source.complete,
    repairs: [...source.repairs, ...candidate.repairs],
    thinking: source.thinking,
  });
}

function strategyOf(candidate: Candidate): Strategy {
  if (!candidate.strict) return 'repaired';
  return candidate.fenced ? 'code-block' : 'balanced';
}

/** Several envelopes of equal rank that say different things: none is run. */
function readSeveral(
  source: Source,
  tied: readonly { readonly candidate: Candidate; readonly envelope: Envelope | undefined }[],
): Reply | undefined {
  const [first] = tied;
  if (first?.envelope === undefined) return undefined;
  if (tied.length === 1) return fromCandidate(source, first.candidate, first.envelope);
  const values: readonly Json[] = tied.map(({ candidate }) => candidate.value);
  return {
    thought: source.thinking,
    goal: '',
    calls: [],
    strategy: strategyOf(first.candidate),
    complete: source.complete,
    confidence: 'low',
    ambiguous: values,
    repairs: source.repairs,
  };
}

/** The envelope's fields without an object around them that could be read. */
function readByFields(source: Source): Reply | undefined {
  const found = readFields(source.text, { from: 0, to: source.end, maxDepth: source.maxDepth });
  if (found === undefined) return undefined;
  const envelope = readEnvelope(found.value, source.tools, found.complete);
  if (envelope === undefined || envelope.form !== 'envelope') return undefined;
  return fromEnvelope(envelope, {
    strategy: 'fields',
    complete: found.complete && source.complete,
    repairs: [...source.repairs, ...found.repairs],
    thinking: source.thinking,
  });
}

/** Plain conversation: the text is the answer. */
function readText(source: Source): Reply {
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

interface Provenance {
  readonly strategy: Strategy;
  readonly complete: boolean;
  readonly repairs: readonly Repair[];
  readonly thinking: string;
}

function fromEnvelope(envelope: Envelope, { strategy, complete, repairs, thinking }: Provenance): Reply {
  const { form: _form, ...said } = envelope;
  const bold = repairs.reduce((sum, repair) => sum + repair.cost, 0) >= 4;
  return {
    ...said,
    thought: said.thought === '' ? thinking : said.thought,
    strategy,
    complete,
    confidence: bold || strategy === 'fields' ? 'low' : 'high',
    repairs,
  };
}
