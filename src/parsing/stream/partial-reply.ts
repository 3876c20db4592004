import { parseStrict } from '../../json/depth.ts';
import {
  type PlanStep,
  type ToolCallRequest,
  CALL_ARGUMENT_KEYS,
  callsOf,
  makeCall,
  readPlan,
  STEP_ARGUMENT_KEYS,
} from '../calls/call-forms.ts';
import { DEFAULT_LIMITS } from '../repair/repairs.ts';
import { type TextCalls, withSpellings } from '../reply/reply-source.ts';
import { type Member, EnvelopeLexer } from './envelope-lexer.ts';
import type { NameReader } from './name-reader.ts';

/**
 * What is known of a reply while it arrives. `phase` is what is being written: nothing yet, reasoning, plain text, the
 * envelope, or a tool call in the model's own format. In the phase `text` the answer is provisional: when the message
 * turns out to lead to an envelope or a call, it is taken back.
 */
export interface PartialReply {
  readonly phase: 'waiting' | 'thinking' | 'text' | 'envelope' | 'calls';
  readonly thought: string;
  readonly goal: string;
  readonly answer?: string;
  /**
   * The call being written: its name as soon as it is whole, its arguments (`complete`) once they are. Only the end says
   * whether it is one: behind it another may follow that differs, or, unless `textCalls` is `lenient`, text.
   */
  readonly calls: readonly ToolCallRequest[];
  readonly plan?: readonly PlanStep[];
}

/** What a reply does beside speaking. */
type Acts = Pick<PartialReply, 'calls' | 'plan'>;

/** Reads what a lexer has so far as a reply. Values that were parsed once are not parsed again. */
class PartialEnvelope {
  private readonly lexer: EnvelopeLexer;
  private readonly parsed = new Map<string, Acts>();
  private readonly tools: unknown;

  constructor(lexer: EnvelopeLexer, tools: unknown) {
    this.lexer = lexer;
    this.tools = tools;
  }

  read(thinking: string): PartialReply {
    const thought = this.text('thought') ?? '';
    const answer = this.lexer.members.get('answer');
    const plan = this.plan();
    return {
      phase: 'envelope',
      thought: thought === '' ? thinking : thought,
      goal: this.text('goal') ?? '',
      calls: this.calls(),
      ...(answer?.kind !== 'text' || answer.isBlank ? {} : { answer: answer.text }),
      ...(plan === undefined ? {} : { plan }),
    };
  }

  private text(key: string): string | undefined {
    const member = this.lexer.members.get(key);
    return member?.kind === 'text' ? member.text : undefined;
  }

  private calls(): readonly ToolCallRequest[] {
    const tool = this.lexer.members.get('tool');
    if (tool?.kind !== 'text' || !tool.complete || tool.text.trim() === '') return [];
    const name = tool.text.trim();
    const key = STEP_ARGUMENT_KEYS.find((candidate) => this.lexer.members.has(candidate));
    const args = key === undefined ? undefined : this.lexer.members.get(key);
    const closed = this.lexer.state === 'closed';
    const source = args === undefined ? undefined : sourceOf(args);
    // Arguments that only a repair can read are known at the end.
    if (source === undefined) return [{ name, args: {}, complete: closed && args === undefined }];
    return this.remember(`calls ${String(closed)}`, () => ({ calls: [makeCall(name, source.value, closed)] })).calls;
  }

  private plan(): readonly PlanStep[] | undefined {
    const member = this.lexer.members.get('plan');
    if (member?.kind !== 'json') return undefined;
    return this.remember(`plan ${String(this.lexer.state === 'closed')}`, () => {
      const { plan } = readPlan(sourceOf(member)?.value, this.lexer.state === 'closed');
      return { calls: [], ...(plan === undefined ? {} : { plan }) };
    }).plan;
  }

  private remember(key: string, read: () => Acts): Acts {
    const known = this.parsed.get(key);
    if (known !== undefined) return known;
    const made = withSpellings({ ...read(), repairs: [] }, this.tools);
    this.parsed.set(key, made);
    return made;
  }
}

/** The value of a member that is whole; undefined while it grows or when it is not JSON. */
function sourceOf(member: Member): { readonly value: ToolCallRequest['args'] } | undefined {
  if (member.kind === 'text') return member.complete ? { value: member.text } : undefined;
  return parseStrict(member.source, DEFAULT_LIMITS.maxDepth);
}

/** What an object in a message is so far: not known yet, the envelope, a call in another form, or part of the text. */
type ObjectKind = 'open' | 'envelope' | 'call' | 'text';

const LONGEST_KEY = 40;
const ANSWER_KEYS = new Set(['thought', 'goal', 'answer']);
const ENVELOPE_KEYS = new Set([...ANSWER_KEYS, 'tool', 'plan', ...STEP_ARGUMENT_KEYS]);
const NAME_KEYS = ['name', 'tool_name', 'tool', 'action', 'function', 'function_name', 'recipient_name'];
const LIST_KEYS = ['tool_calls', '__tool_calls__', 'function_calls', 'function', 'tool'];
const OTHER_CALL_KEYS = ['id', 'type', 'index', 'tool_call_id', 'description'];
const CALL_KEYS = new Set([...ENVELOPE_KEYS, ...NAME_KEYS, ...LIST_KEYS, ...CALL_ARGUMENT_KEYS, ...OTHER_CALL_KEYS]);

/**
 * Follows one object of a message and decides what it is as soon as its keys say so. An envelope has its own fields only:
 * with any other the object is part of the text, unless it is a call in another form.
 */
export class ObjectWatch {
  verdict: ObjectKind = 'open';
  private readonly lexer = new EnvelopeLexer();
  private readonly envelope: PartialEnvelope;
  private readonly mode: TextCalls;
  private readonly names: NameReader | undefined;

  constructor(mode: TextCalls, names: NameReader | undefined, tools: unknown) {
    this.envelope = new PartialEnvelope(this.lexer, tools);
    this.mode = mode;
    this.names = names;
  }

  /** True until the object is closed or cannot be followed any more. */
  get isOpen(): boolean {
    return this.lexer.state === 'open';
  }

  read(thinking: string): PartialReply {
    return this.envelope.read(thinking);
  }

  /** Takes a piece from `from` on, up to where the object ends or turns out to be none of the agent's. */
  take(piece: string, from: number): number {
    let i = from;
    while (i < piece.length && this.isOpen && this.verdict !== 'call' && this.verdict !== 'text') {
      i = this.lexer.take(piece, i);
      if (this.lexer.keyLength > LONGEST_KEY) this.verdict = 'text';
      else this.verdict = this.mode === 'never' ? this.judgeAnswer() : this.judge();
    }
    return i;
  }

  /** Continues through an object that is text, to where it ends. */
  pass(piece: string, from: number): number {
    let i = from;
    while (i < piece.length && this.isOpen) i = this.lexer.take(piece, i);
    return i;
  }

  /** Where no text is a call, only a thought or a goal with an answer is an envelope. */
  private judgeAnswer(): ObjectKind {
    const { keys, members, state } = this.lexer;
    if (state === 'lost' || [...keys].some((key) => !ANSWER_KEYS.has(key))) return 'text';
    if ([...members.values()].some(({ kind }) => kind === 'json')) return 'text';
    const isEnvelope = members.has('thought') || members.has('goal');
    if (state === 'open') return isEnvelope ? 'envelope' : 'open';
    return isEnvelope && members.has('answer') ? 'envelope' : 'text';
  }

  private judge(): ObjectKind {
    const { keys, members, state } = this.lexer;
    if (![...keys].every((key) => ENVELOPE_KEYS.has(key))) return this.judgeCall();
    if (members.get('plan')?.kind === 'text') return 'text';
    const acts = members.has('thought') || members.has('tool') || members.has('plan');
    const isEnvelope = acts || (members.has('answer') && (this.mode === 'lenient' || members.has('goal')));
    if (state === 'lost' && this.mode === 'whole-reply' && !members.has('tool')) return 'text';
    if (isEnvelope) return 'envelope';
    return state === 'open' ? 'open' : 'text';
  }

  /** `{name, arguments}` and its like are calls of registered tools only. */
  private judgeCall(): ObjectKind {
    const { keys, members, state } = this.lexer;
    if (this.names === undefined) return 'text';
    for (const key of NAME_KEYS) {
      const member = members.get(key);
      if (member?.kind !== 'text' || !member.complete) continue;
      return this.names.has(member.text) ? 'call' : 'text';
    }
    for (const key of LIST_KEYS) {
      const member = members.get(key);
      if (member?.kind === 'json') return this.callsIn(member.source) ? 'call' : 'text';
    }
    return state !== 'open' || [...keys].some((key) => !CALL_KEYS.has(key)) ? 'text' : 'open';
  }

  private callsIn(source: string): boolean {
    const parsed = parseStrict(source, DEFAULT_LIMITS.maxDepth);
    return parsed === undefined || callsOf(parsed.value, true).some(({ name }) => this.names?.has(name) === true);
  }
}
