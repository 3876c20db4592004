import type { Effect, Outcome, OutsideEvent } from '../../../actors/journal.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../json/json.ts';
import type { ToolRun } from './exploration.ts';
import { isErrorResult } from '../../../tools/result.ts';

/** One thing that happened on a path, as seen from outside of the machines. Laws are judged by these alone. */
export type Happening =
  | { readonly kind: 'started'; readonly effect: Effect }
  | { readonly kind: 'settled'; readonly effect: Effect; readonly out: Outcome }
  | { readonly kind: 'fired'; readonly effect: Effect }
  | { readonly kind: 'told'; readonly event: OutsideEvent; readonly to: string | null }
  | {
      readonly kind: 'moved';
      readonly machine: string;
      readonly actor: string;
      readonly event: string;
      readonly from: string;
      readonly to: string;
      /** What the machine ended with; left out while it runs. */
      readonly output?: unknown;
      /** The arguments that the model asked for, and whether the tool is polled, where a call begins. */
      readonly asked?: { readonly args: Json; readonly polling: boolean };
    };

/** The happenings of a path so far, oldest first. */
export type Story = readonly Happening[];

/** A move of a machine. */
export type Moved = Extract<Happening, { readonly kind: 'moved' }>;
type Settled = Extract<Happening, { readonly kind: 'settled' }>;

/** The path of the actor that started an effect: `agent/c1` for `agent/c1/callTool#2`. */
export function ownerOf(effect: Effect): string {
  return effect.id.slice(0, effect.id.lastIndexOf('/'));
}

/** True where a call's actor begins: its first transition. */
export function isBirth(one: Happening): one is Moved {
  return one.kind === 'moved' && one.machine === 'toolCall' && one.event === 'started' && one.from === 'RESOLVING';
}

/**
 * True for the path of the root and of the calls and turns that it makes itself; what agents below it do is judged where
 * they run, by what they were given.
 */
export function isOwn(path: string): boolean {
  return path.split('/').length <= 2 && !path.endsWith('/childAgent');
}

/** A move of the run itself, or of a call or a turn that it makes itself. */
export function isOwnMove(one: Happening, machine = 'agent'): one is Moved {
  return one.kind === 'moved' && one.machine === machine && isOwn(one.actor);
}

/** True where this leaf begins. */
export function begins(one: Happening, leaf: string): one is Extract<Happening, { readonly kind: 'started' }> {
  return one.kind === 'started' && one.effect.name === leaf;
}

/** True where a model turn that the run makes itself was answered, or failed. */
export function isOwnTurn(one: Happening): one is Settled {
  return one.kind === 'settled' && one.effect.name === 'callLlm' && isOwn(ownerOf(one.effect));
}

/** True where code has checked the answer of the run itself. */
export function isOwnCheck(one: Happening): one is Settled {
  return one.kind === 'settled' && one.effect.name === 'checkOutput' && isOwn(ownerOf(one.effect));
}

/** True where the task was handed over to another agent: how that ended is how the run ended. */
export function wasHandedOver(story: Story): boolean {
  return story.some((one) => isOwnMove(one) && one.to === 'ERROR_RECOVERY.HANDING_OVER');
}

/** The run of a tool that an effect is; null for other effects. */
export function toolRun({ name, request }: Effect): ToolRun | null {
  if (name !== 'callTool' || !isJsonObject(request)) return null;
  return { callId: textAt(request, 'callId'), tool: textAt(request, 'tool'), args: request.args ?? {} };
}

/** A text member of a JSON value; empty where there is none. */
export function textAt(value: Json | undefined, key: string): string {
  const member = isJsonObject(value) ? value[key] : undefined;
  return typeof member === 'string' ? member : '';
}

/** What is known from outside of one call of a tool. */
export interface CallFacts {
  /** How often the tool was run. */
  readonly runs: number;
  /** How often its own check threw, and so decided nothing about the arguments. */
  readonly brokenChecks: number;
  /** How its latest run ended; null before it did. */
  readonly latest: 'done' | 'failed' | 'unknown' | null;
  /** Who agreed to the current arguments: a person, or the tool's own code. */
  readonly approved: boolean | 'by-code';
  /** The arguments that a person was last asked about; null if no one was. */
  readonly askedAbout: Json;
  /** What a person wrote in their place; null if nothing, or if the recovery has repaired that. */
  readonly edited: Json;
  /** A person chose "always", and whether that was stored. */
  readonly always: 'no' | 'said' | 'kept';
  /** What was answered last, `failed` where asking did; null if there was no answer. */
  readonly answer: string | null;
  /** The arguments that the tool's own check was given last; null where it was asked nothing. */
  readonly checked: Json;
  /** The arguments that the tool's own check gave back; null when it has not accepted any. */
  readonly accepted: Json;
  /** The tool's own check has rejected what stands now. */
  readonly rejected: boolean;
  /** What the recovery was asked, in order. */
  readonly asked: readonly string[];
  /** The name of the leaf that settled last; null when none did. */
  readonly lastLeaf: string | null;
}

const NOTHING: CallFacts = {
  runs: 0,
  brokenChecks: 0,
  latest: null,
  approved: false,
  askedAbout: null,
  edited: null,
  always: 'no',
  answer: null,
  checked: null,
  accepted: null,
  rejected: false,
  asked: [],
  lastLeaf: null,
};

/** The facts of the call whose actor is at this path, since that actor was started. */
export function callFacts(story: Story, path: string): CallFacts {
  const born = story.findLastIndex((one) => isBirth(one) && one.actor === path);
  return story.slice(Math.max(born, 0)).reduce((facts, one) => factsAfter(facts, one, path), NOTHING);
}

function factsAfter(facts: CallFacts, one: Happening, path: string): CallFacts {
  if (one.kind === 'told') return one.to === path ? factsAfterAnswer(facts, one.event) : facts;
  if (one.kind === 'moved') return isRepair(one, path, facts) ? { ...facts, ...OTHER_ARGUMENTS } : facts;
  if (one.kind === 'fired' || ownerOf(one.effect) !== path) return facts;
  if (one.kind === 'started') return factsAtStart(facts, one.effect.name, one.effect.request);
  return { ...factsAtEnd(facts, one.effect.name, one.out), lastLeaf: one.effect.name };
}

/** Nobody has seen them yet. */
const OTHER_ARGUMENTS = { approved: false, edited: null, accepted: null, rejected: false } as const;

/** True where a repair agent has answered with arguments. */
function isRepair({ actor, machine, output }: Moved, path: string, { asked }: CallFacts): boolean {
  const isItsEnd = machine === 'agent' && actor === `${path}/childAgent` && asked.at(-1) === 'fix-agent';
  return isItsEnd && Reflect.get(Object(output), 'success') === true;
}

function factsAfterAnswer(facts: CallFacts, event: OutsideEvent): CallFacts {
  if (event.type === 'approval.refused') return { ...facts, answer: 'deny' };
  if (event.type !== 'approval.given') return facts;
  const given: CallFacts = {
    ...facts,
    approved: true,
    answer: 'given',
    always: event['always'] === true ? 'said' : facts.always,
  };
  const edited = event['args'] ?? null;
  return edited === null ? given : { ...given, edited, accepted: null, rejected: false };
}

function factsAtStart(facts: CallFacts, leaf: string, request: Json): CallFacts {
  if (leaf === 'callTool') return { ...facts, runs: facts.runs + 1, latest: null };
  if (leaf === 'askApproval' && isJsonObject(request)) return { ...facts, askedAbout: request.args ?? null };
  if (leaf === 'checkArgs' && isJsonObject(request)) return { ...facts, checked: request.args ?? null };
  if (leaf === 'rememberPermission') return { ...facts, always: 'kept' };
  if (leaf === 'runFixer' && isJsonObject(request))
    return { ...facts, asked: [...facts.asked, textAt(request, 'ask')] };
  return facts;
}

function factsAtEnd(facts: CallFacts, leaf: string, out: Outcome): CallFacts {
  const value = out.ok && isJsonObject(out.value) ? out.value : {};
  switch (leaf) {
    case 'askApproval':
      return factsAfterDecision(facts, typeof value.decision === 'string' ? value.decision : 'failed');
    case 'checkArgs':
      if (!out.ok) return { ...facts, brokenChecks: facts.brokenChecks + 1, accepted: null, rejected: true };
      return value.ok === true
        ? { ...facts, accepted: value.args ?? null, rejected: false, ...agreedByCode(facts, value) }
        : { ...facts, accepted: null, rejected: true };
    case 'runFixer':
      return value.kind === 'arguments' && value.value !== null ? { ...facts, ...OTHER_ARGUMENTS } : facts;
    case 'callTool':
      return { ...facts, latest: endOf(out) };
    default:
      return facts;
  }
}

/** What a person agreed to stays so. */
function agreedByCode(facts: CallFacts, { approved, args = null }: JsonObject): Partial<CallFacts> {
  if (facts.approved === true) return {};
  return approved === true ? { approved: 'by-code', askedAbout: args } : { approved: false };
}

function factsAfterDecision(facts: CallFacts, decision: string): CallFacts {
  const approved = decision === 'allow-once' || decision === 'always-allow';
  return { ...facts, approved, answer: decision, always: decision === 'always-allow' ? 'said' : facts.always };
}

const UNKNOWN: ReadonlySet<string> = new Set(['timeout', 'unknown-outcome']);

function endOf(out: Outcome): 'done' | 'failed' | 'unknown' {
  if (!out.ok) return UNKNOWN.has(out.error.code) ? 'unknown' : 'failed';
  return isErrorResult(out.value) ? 'failed' : 'done';
}
