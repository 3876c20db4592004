import { digest } from '../../../json/digest.ts';
import type { ToolsChanged } from '../../../machines/contract/agent-setup.ts';
import { verdictOf } from '../../../machines/agent/escalating.ts';
import { changeBelow } from '../../../machines/tool-call/delegation.ts';
import { type Json, isJsonObject } from '../../../json/json.ts';
import { type ToolSpec, heldTo, permissionOf } from '../../../tools/spec.ts';
import {
  type CallFacts,
  callFacts,
  isOwnMove,
  type Moved,
  type Happening,
  type Story,
  isBirth,
  ownerOf,
  textAt,
} from '../walk/story.ts';
import { type Law, type Situation, news } from './law.ts';
import { isAgent, isLlmCall, isToolCall } from '../walk/explored-run.ts';
import { eachRun, fitsSchema, toolsAt } from './running-tools.ts';

/** What may run at all, an agent below included. */
export const permission: Law = {
  name: 'permission',
  says: 'No tool runs and no child agent starts without ALLOW or an approval of these arguments; a denied, disabled or unknown one never does, also after a change of tools.',
  check: (situation) =>
    toolWithoutPermission(situation) ?? agentWithoutPermission(situation) ?? goesOnWithout(situation),
};

const toolWithoutPermission = eachRun(({ spec, name, path, facts, args }, situation) => {
  if (spec === undefined) return `'${name}' ran, and no such tool is registered`;
  const wrong = unpermitted(spec, { path, facts }, situation);
  if (wrong !== null) return `'${name}' ran, ${wrong}`;
  const agreed = permissionOf(spec) === 'ask' && facts.edited === null;
  return agreed && digest(facts.askedAbout) !== digest(args)
    ? `'${name}' ran with other arguments than those that somebody agreed to`
    : null;
});

function agentWithoutPermission(situation: Situation): string | null {
  for (const { one, before } of news(situation)) {
    if (one.kind !== 'moved' || one.machine !== 'agent' || one.event !== 'started') continue;
    const path = one.actor.slice(0, one.actor.lastIndexOf('/'));
    const owner = situation.actors.find((actor) => actor.path === path);
    if (owner === undefined || !isToolCall(owner.snapshot)) continue;
    const name = owner.snapshot.context.spec?.name ?? '';
    const spec = toolsAt(situation, path).find((tool) => tool.name === name);
    const facts = callFacts(before, path);
    if (spec === undefined) return `the agent '${name}' was started, and there is no such agent`;
    // One that repairs a call is not a call of its own: it may begin before anybody is asked.
    const isRepair = owner.state !== 'DELEGATING';
    const wrong = unpermitted(spec, { path, facts: { ...facts, approved: facts.approved || isRepair } }, situation);
    if (wrong !== null) return `the agent '${name}' was started, ${wrong}`;
  }
  return null;
}

/** A resumed run continues nothing that may no longer run, unless that will not really run again. */
function goesOnWithout(situation: Situation): string | null {
  const restart = situation.fresh.findLast((one) => one.kind === 'told' && one.event['restart'] !== undefined);
  if (restart?.kind !== 'told') return null;
  const settled = isJsonObject(restart.event['restart']) ? restart.event['restart'].notRepeated : [];
  for (const { path, snapshot, state } of situation.actors) {
    if (!isToolCall(snapshot) || (state !== 'RUNNING' && state !== 'DELEGATING')) continue;
    const { request, spec } = snapshot.context;
    const given = toolsAt(situation, path).find(({ name }) => name === spec?.name);
    if (given === undefined || (Array.isArray(settled) && settled.includes(request.callId))) continue;
    const wrong = unpermitted(given, { path, facts: callFacts(situation.story, path) }, situation);
    if (wrong !== null) return `'${given.name}' went on running, ${wrong}`;
  }
  return null;
}

interface Call {
  readonly path: string;
  readonly facts: CallFacts;
}

function unpermitted(given: ToolSpec, { path, facts }: Call, situation: Situation): string | null {
  const spec = asItStands(given, path, situation);
  if (!spec.enabled) return 'and it is switched off';
  const allowed = permissionOf(spec);
  if (allowed === 'never') return `and its policy is ${spec.policy}`;
  return allowed === 'ask' && !isAgreed(spec, facts)
    ? 'its policy is confirm, and these arguments had not been approved'
    : null;
}

/** Code agrees only as long as it decides at all. */
function isAgreed({ needsApproval }: ToolSpec, { approved }: CallFacts): boolean {
  return approved === true || (approved === 'by-code' && needsApproval === true);
}

/** A tool as a call was given it, with all that has become stricter about it since. */
function asItStands(given: ToolSpec, path: string, { story, actors }: Situation): ToolSpec {
  const born = story.findLastIndex((one) => isBirth(one) && one.actor === path);
  const above = actors.flatMap((actor) => (path.startsWith(`${actor.path}/`) ? agentBelow(actor) : []));
  let spec = given;
  const [before, since] = [story.slice(0, Math.max(born, 0)), story.slice(Math.max(born, 0))];
  const latest = before.findLast((one) => one.kind === 'told' && isChange(one.event));
  for (const one of latest === undefined ? since : [latest, ...since]) {
    let told: ToolsChanged | null = one.kind === 'told' && isChange(one.event) ? one.event : null;
    for (const tool of above) told = told === null ? null : changeBelow(told, tool);
    const now = told?.toolset.tools.find(({ name }) => name === spec.name);
    if (now !== undefined) spec = heldTo(spec, now);
  }
  return spec;
}

/** The name of the agent that works for a call, or to which the run was handed over; empty: there is none. */
function agentBelow({ snapshot, state }: Situation['actors'][number]): readonly string[] {
  if (isAgent(snapshot)) {
    const isHandedOver = state === 'ERROR_RECOVERY.HANDING_OVER';
    return isHandedOver ? [verdictOf(snapshot.context, 'reroute')?.name ?? ''] : [];
  }
  return isToolCall(snapshot) ? [snapshot.context.spec?.name ?? ''] : [];
}

function isChange(event: { readonly type: string }): event is ToolsChanged {
  return event.type === 'tools.changed';
}

/** Who is asked about a call, and what. */
export const asking: Law = {
  name: 'asking',
  says: 'A person is asked about each call that needs it, once, with valid and checked arguments; an "always" is remembered, and nothing else is.',
  check: (situation) => {
    for (const { one, before } of news(situation)) {
      if (one.kind !== 'started' || !OF_THE_GATE.has(one.effect.name)) continue;
      const path = ownerOf(one.effect);
      const facts = callFacts(before, path);
      const tool = textAt(one.effect.request, 'tool');
      const spec = toolsAt(situation, path).find(({ name }) => name === tool);
      if (spec === undefined || !isCall(situation, path)) continue;
      const wrong = askedWrongly(one, asItStands(spec, path, situation), facts);
      if (wrong !== null) return wrong;
    }
    return null;
  },
};

const OF_THE_GATE: ReadonlySet<string> = new Set(['askApproval', 'rememberPermission', 'callTool']);

function isCall({ actors }: Situation, path: string): boolean {
  const owner = actors.find((actor) => actor.path === path)?.snapshot;
  return owner !== undefined && isToolCall(owner);
}

function askedWrongly({ effect }: Extract<Happening, { kind: 'started' }>, spec: ToolSpec, facts: CallFacts) {
  if (effect.name === 'rememberPermission' && facts.always !== 'said')
    return `'${spec.name}' was always allowed, although no person had decided so`;
  if (effect.name === 'callTool' && facts.always === 'said')
    return `somebody said "always" to '${spec.name}', and it ran before that was kept`;
  if (effect.name === 'callTool' && facts.edited !== null && !isEdited(argsOf(effect.request), facts.edited))
    return `'${spec.name}' ran without what a person had written`;
  if (effect.name !== 'askApproval') return null;
  if (permissionOf(spec) !== 'ask') return `a person was asked about '${spec.name}', which does not need it`;
  if (facts.approved === 'by-code' && isAgreed(spec, facts))
    return `a person was asked about a call of '${spec.name}' that needs no approval`;
  if (facts.approved === true) return `a person was asked twice about the same call of '${spec.name}'`;
  const args = argsOf(effect.request);
  if (!isJsonObject(args) || !fitsSchema(args, spec, facts) || facts.rejected)
    return `a person was asked about arguments that '${spec.name}' does not take`;
  return spec.checkedByCode && digest(facts.accepted) !== digest(args)
    ? `a person was asked about arguments that the check of '${spec.name}' has not seen`
    : null;
}

function argsOf(request: Json): Json {
  return isJsonObject(request) ? (request.args ?? null) : null;
}

/** What the explored person adds is still there, whatever a check has made of the rest. */
function isEdited(args: Json, edited: Json): boolean {
  return !isJsonObject(edited) || edited.edited === undefined || (isJsonObject(args) && args.edited === edited.edited);
}

/** Why a call may be denied. */
export const denials: Law = {
  name: 'denials',
  says: "A call is denied only because of its policy, the loop guard, a person, or a person's silence.",
  check: (situation) => {
    for (const { one, before } of news(situation)) {
      if (!isOwnMove(one, 'toolCall') || one.to !== 'DENIED') continue;
      const wrong = deniedWrongly(one, before, situation);
      if (wrong !== null) return wrong;
    }
    return null;
  },
};

function deniedWrongly(one: Moved, story: Story, situation: Situation): string | null {
  const outcome: unknown = one.output ?? {};
  const denial: unknown = Reflect.get(Object(outcome), 'denial');
  const [kind, tool]: readonly unknown[] = [Reflect.get(Object(denial), 'kind'), Reflect.get(Object(outcome), 'tool')];
  const given = toolsAt(situation, one.actor).find(({ name }) => name === tool);
  if (kind === 'loop') return null;
  const { answer, runs, latest } = callFacts(story, one.actor);
  const bySilence = kind === 'deadline' && one.event === 'approval.expired';
  const byPerson = kind === 'person' && (answer === 'deny' || answer === 'failed');
  // A tool may be removed while its call waits for a person.
  if (given === undefined) return bySilence || byPerson ? null : 'a call was denied of a tool that does not exist';
  const spec = asItStands(given, one.actor, { ...situation, story });
  if (runs > 0 && latest === null && isNotRepeated(story, Reflect.get(Object(outcome), 'callId')))
    return `a call of '${given.name}' was denied whose outcome was still to come`;
  const isTrue =
    (kind === 'disabled' && !spec.enabled) ||
    (kind === 'policy' && spec.enabled && permissionOf(spec) === 'never') ||
    bySilence ||
    byPerson ||
    (kind === 'no-callback' && answer === 'nobody');
  return isTrue ? null : `a call of '${given.name}' was denied as ${String(kind)}, and that is not why`;
}

function isNotRepeated(story: Story, callId: unknown): boolean {
  return story.some((one) => {
    const restart: Json = (one.kind === 'told' ? one.event['restart'] : null) ?? null;
    const ids = isJsonObject(restart) ? restart.notRepeated : null;
    return Array.isArray(ids) && ids.some((id) => id === callId);
  });
}

/** What waits, and how long. */
export const deadlines: Law = {
  name: 'deadlines',
  says: 'A timer runs for every wait that has a limit, and for nothing else.',
  check: ({ run, actors, settings }) => {
    if (settings === null || run.isOver()) return null;
    const running = [...run.open.values()].filter(({ ms }) => ms !== undefined).length;
    const awaited = actors.reduce((sum, actor) => sum + timersOf(actor), 0);
    if (running > awaited) return `${running - awaited} timers run for which nothing waits`;
    return running < awaited ? `${awaited - running} waits have no end` : null;
  },
};

/** A pause has its length, and a repair agent its time. */
const TIMED: ReadonlySet<string> = new Set(['RECOVERING.BACKING_OFF', 'RECOVERING.RUNNING_REPAIR_AGENT']);

function timersOf({ snapshot, state }: Situation['actors'][number]): number {
  if (snapshot.status !== 'active') return 0;
  if (isLlmCall(snapshot)) return state === 'BACKING_OFF' ? 1 : 0;
  if (isAgent(snapshot)) {
    const { totalMs, approvalMs } = snapshot.context.settings;
    const asks = state === 'ERROR_RECOVERY.ASKING_HUMAN' && approvalMs !== null;
    return (totalMs === null ? 0 : 1) + (asks ? 1 : 0);
  }
  if (!isToolCall(snapshot)) return 0;
  const asks = state.startsWith('AWAITING_APPROVAL') && snapshot.context.settings.approvalMs !== null;
  return asks || TIMED.has(state) ? 1 : 0;
}
