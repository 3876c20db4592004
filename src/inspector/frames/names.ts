import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';

const LONGEST = 60;

/** What a guard is called: its name, the names that `and`, `or` and `not` join, or what an inline arrow function says. */
export function guardName(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  const parts = member(guard, 'guards');
  if (typeof guard === 'function' && Array.isArray(parts)) {
    const names = parts.map((part) => (isJoined(part) ? `(${guardName(part)})` : guardName(part)));
    return guard.name === 'not' ? `not ${names.join('')}` : names.join(` ${guard.name} `);
  }
  if (typeof guard === 'function') return functionName(guard);
  return withParams(guard) ?? 'guard';
}

/** True for what `and` or `or` makes. */
function isJoined(guard: unknown): boolean {
  return typeof guard === 'function' && guard.name !== 'not' && Array.isArray(member(guard, 'guards'));
}

/**
 * A guard's name as a drawing's arrow says it: `modelFailed` is `model failed`, `stepIs retry` is `step is retry`, and
 * `not stepsLeftInPlan` is `no plan steps left`.
 */
export function guardLabel(name: string): string {
  return inWords(name).replaceAll(/\bnot (.+?)(?= and | or |$)/g, (_, claim: string) => denied(claim));
}

/** A name in camel case as words, `callLlm` as `call LLM`; event types keep their dots. */
export function inWords(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, (_, end: string, begin: string) => `${end} ${begin.toLowerCase()}`)
    .replaceAll(/(?<= )(?:llm|mcp)\b|\b(?:llm|mcp)(?= |$)/g, (acronym) => acronym.toUpperCase());
}

/** The contrary of a claim, where English does not put `not` before it. */
function denied(claim: string): string {
  const [, things, , place] = /^(.+) left( in (.+))?$/.exec(claim) ?? [];
  if (things !== undefined) return place === undefined ? `no ${things} left` : `no ${place} ${things} left`;
  const [, verb, rest] = /^(is|was|may|must|can|has|needs) (.+)$/.exec(claim) ?? [];
  if (verb === undefined) return `not ${claim}`;
  if (verb === 'can') return `cannot ${rest}`;
  return verb === 'has' || verb === 'needs' ? `${verb} no ${rest}` : `${verb} not ${rest}`;
}

/** What an action is called; null for what XState does for itself, such as starting the timer of `after`. */
export function actionName(action: unknown): string | null {
  if (typeof action === 'string') return action;
  if (typeof action !== 'function') return withParams(action) ?? 'action';
  const type = member(action, 'type');
  if (typeof type !== 'string' || !type.startsWith('xstate.')) return functionName(action);
  const kind = type.slice('xstate.'.length);
  if (kind === 'assign') return assignName(member(action, 'assignment'));
  const about = member(action, kind === 'cancel' ? 'sendId' : 'event');
  const event = typeof about === 'string' ? about : member(about, 'type');
  if (typeof event !== 'string') return kind;
  return event.startsWith('xstate.after.') ? null : `${kind} ${event}`;
}

/** What an invoked logic is called: the name that it was set up with, else what it is. */
export function sourceName(src: unknown, machine: AnyStateMachine): string {
  if (typeof src === 'string' && !src.startsWith('xstate.invoke.')) return src;
  return logicName(typeof src === 'string' ? machine.implementations.actors[src] : src) ?? 'inline actor';
}

/** What an actor logic calls itself: the id of a machine, the name of a leaf. */
export function logicName(logic: unknown): string | null {
  const inner = member(logic, 'src');
  const name = member(logic, 'id') ?? member(member(logic, 'config'), 'leaf');
  if (typeof name === 'string') return name;
  return inner === undefined ? null : logicName(inner);
}

/**
 * The display name of an actor: the tool of a call, the name of an agent, the id of a machine whose actor was given
 * none. Null: the end of its path is its name.
 */
export function actorName(path: string, machine: AnyStateMachine, snapshot: AnyMachineSnapshot | null): string | null {
  const context: unknown = snapshot?.context;
  if (machine.id === 'toolCall')
    return firstText(member(member(context, 'spec'), 'name'), member(member(context, 'request'), 'tool'));
  if (machine.id === 'agent') {
    const place = member(member(context, 'place'), 'agent');
    const below = typeof place === 'string' ? place.slice(place.lastIndexOf('/') + 1) : '';
    return below === '' ? firstText(member(member(context, 'runInfo'), 'agent')) : below;
  }
  const own = path.slice(path.lastIndexOf('/') + 1);
  return /^(?:x:)?\d+(?:\.|$)/.test(own) && machine.id !== '(machine)' ? machine.id : null;
}

/** The path of the agent that an actor belongs to, or that it is: child agents all have the same id in their calls. */
export function agentAbove(path: string): string {
  const parts = path.split('/');
  return parts.slice(0, Math.max(0, parts.lastIndexOf('childAgent')) + 1).join('/');
}

function firstText(...values: readonly unknown[]): string | null {
  for (const value of values) if (typeof value === 'string' && value !== '') return value;
  return null;
}

function assignName(assignment: unknown): string {
  if (typeof assignment === 'function') return functionName(assignment, 'assign');
  return typeof assignment === 'object' && assignment !== null
    ? `assign ${Object.keys(assignment).join(', ')}`
    : 'assign';
}

function withParams(named: unknown): string | null {
  const type = member(named, 'type');
  if (typeof type !== 'string') return null;
  const params = member(named, 'params');
  return typeof params === 'string' ? `${type} ${params}` : type;
}

/** Names that the place gives to a function that has none: `guard: () => …` is called `guard`. */
const PLACES: ReadonlySet<string> = new Set(['', 'guard', 'actions', 'entry', 'exit', 'assignment', 'anonymous']);

/** The function's own name; of one that has none, what it says if that is short. */
function functionName(fn: object, otherwise = 'inline'): string {
  const name = member(fn, 'name');
  if (typeof name === 'string' && !PLACES.has(name)) return name;
  const [, body] = /^(?:\([^()]*\)|[\w$]+)\s*=>\s*([^{\s][^]*)$/.exec(Function.prototype.toString.call(fn)) ?? [];
  const text = body?.replaceAll(/\s+/g, ' ').trim();
  return text === undefined || text.length > LONGEST ? otherwise : text;
}

function member(value: unknown, key: string): unknown {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
    ? Reflect.get(value, key)
    : undefined;
}
