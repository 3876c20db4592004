import { makeCall } from '../reply/calls-of.ts';
import { DEFAULT_LIMITS } from '../recover/limits.ts';
import { readPlan } from '../reply/plan.ts';
import type { PlanStep, ToolCallRequest } from '../reply.ts';
import { parseStrict } from '../../json/depth.ts';
import type { EnvelopeLexer, Member } from './envelope-lexer.ts';

/**
 * What is known of a reply while it arrives. `phase` says what is being written: nothing yet, reasoning, plain text, the
 * envelope, or a tool call in a format of the model's own. In the phase `text` the answer is provisional: when the
 * message turns out to lead to an envelope or a call, it is taken back.
 */
export interface PartialReply {
  readonly phase: 'waiting' | 'thinking' | 'text' | 'envelope' | 'calls';
  readonly thought: string;
  readonly goal: string;
  readonly answer?: string;
  /** The call being written: its name as soon as it is whole, its arguments (`complete`) once they are. */
  readonly calls: readonly ToolCallRequest[];
  readonly plan?: readonly PlanStep[];
}

const ARGUMENT_KEYS = ['tool_args', 'arguments', 'args', 'parameters'];

/** Reads what a lexer has so far as a reply. Values that were parsed once are not parsed again. */
export class PartialEnvelope {
  private readonly lexer: EnvelopeLexer;
  private readonly parsed = new Map<
    string,
    { readonly calls: readonly ToolCallRequest[]; readonly plan?: readonly PlanStep[] }
  >();

  constructor(lexer: EnvelopeLexer) {
    this.lexer = lexer;
  }

  read(thinking: string): PartialReply {
    const thought = this.text('thought') ?? '';
    const answer = this.text('answer');
    const plan = this.plan();
    return {
      phase: 'envelope',
      thought: thought === '' ? thinking : thought,
      goal: this.text('goal') ?? '',
      calls: this.calls(),
      ...(answer === undefined || answer.trim() === '' ? {} : { answer }),
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
    const key = ARGUMENT_KEYS.find((candidate) => this.lexer.members.has(candidate));
    const args = key === undefined ? undefined : this.lexer.members.get(key);
    const closed = this.lexer.state === 'closed';
    const source = args === undefined ? undefined : sourceOf(args);
    if (source === undefined) return [{ name, args: {}, complete: closed }];
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

  private remember(
    key: string,
    read: () => { readonly calls: readonly ToolCallRequest[]; readonly plan?: readonly PlanStep[] },
  ): { readonly calls: readonly ToolCallRequest[]; readonly plan?: readonly PlanStep[] } {
    const known = this.parsed.get(key);
    if (known !== undefined) return known;
    const made = read();
    this.parsed.set(key, made);
    return made;
  }
}

/** The value of a member that is whole; undefined while it grows or when it is no JSON. */
function sourceOf(member: Member): { readonly value: ToolCallRequest['args'] } | undefined {
  if (member.kind === 'text') return member.complete ? { value: member.text } : undefined;
  return parseStrict(member.source, DEFAULT_LIMITS.maxDepth);
}
