/**
 * Owns: which states of a machine count as one. Two configurations with the same abstraction have the same machines in
 * the same states, with the same values in all that guards read.
 *
 * I1 What guards read is kept, texts are not. Calls are known by their place, not by their id. A counter that cannot
 *    reach its limit in the turns that are left is left out: no guard can tell.
 * I2 A machine that is not ours is identified by its whole context, exactly: what differs is never taken for the same.
 * I3 So are what history states remember and delayed events.
 */
import type { SnapshotFrom } from 'xstate';
import { actorPath } from '../../actors/leaf.ts';
import { isError } from '../../json/to-json.ts';
import type { agentMachine } from '../../machines/agent/agent.ts';
import type { Failure } from '../../machines/agent/agent-context.ts';
import type { LeafError } from '../../actors/journal.ts';
import type { LlmCallContext } from '../../machines/llm-call/llm-call.ts';
import type { ModelList } from '../../machines/llm-call/model-list.ts';
import type { McpConnectionContext } from '../../machines/mcp/mcp-connection-parts.ts';
import type { ToolCallContext } from '../../machines/tool-call/tool-call-context.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import { permissionOf } from '../../tools/spec.ts';
import {
  type LiveActor,
  type MachineState,
  isAgent,
  isLlmCall,
  isLoopDetection,
  isMcpConnection,
  isToolCall,
} from './walk/explored-run.ts';
import type { LoopContext } from '../../machines/tool-call/loop-detection.ts';
import { digest } from '../../json/digest.ts';
import { callFacts } from './walk/story.ts';
import type { ExploredRun } from './walk/explored-run.ts';

/** The abstraction of all actors together, without what is open and what the laws remember. */
function abstractionOf(actors: readonly LiveActor[], renamed: (path: string) => string, callsATurn: number): Json {
  return actors.map(({ path, state, snapshot }) => [
    renamed(path),
    state,
    snapshot.status,
    snapshot.status === 'active' ? memoryOf(snapshot, callsATurn) : null,
    Object.entries(snapshot.historyValue).map(([id, nodes]) => [id, ...nodes.map((node) => node.id)]),
  ]);
}

/** Knows calls by their place. */
function renaming(): (path: string) => string {
  const names = new Map<string, string>();
  return (path) =>
    path.replaceAll(/\bc\d+\b/g, (callId) => {
      const known = names.get(callId) ?? `call${names.size}`;
      names.set(callId, known);
      return known;
    });
}

function memoryOf(snapshot: MachineState, callsATurn: number): Json {
  if (isAgent(snapshot)) return agentMemory(snapshot, callsATurn);
  if (isToolCall(snapshot)) return toolCallMemory(snapshot.context);
  if (isLlmCall(snapshot)) return llmCallMemory(snapshot.context, snapshot.value === 'BACKING_OFF');
  if (isLoopDetection(snapshot)) return loopPattern(snapshot.context, { turns: Infinity, calls: Infinity });
  if (isMcpConnection(snapshot)) return connectionMemory(snapshot.context);
  try {
    return exactly(snapshot.context);
  } catch {
    return identityOf(Object(snapshot.context)); // A getter that threw, or more depth than there is stack.
  }
}

/**
 * Any value as JSON that no other value has. What hides its content, such as a function or an object of a class without
 * `toJSON`, is known by its identity.
 */
function exactly(value: unknown, around: readonly object[] = []): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'number' || typeof value === 'bigint') return [typeof value, String(value)];
  if (value === undefined) return ['undefined'];
  if (typeof value === 'symbol') return Symbol.keyFor(value) === undefined ? identityOf(value) : ['for', String(value)];
  if (typeof value !== 'object') return identityOf(value);
  if (around.includes(value)) return ['cycle', around.indexOf(value)];
  const within = [...around, value];
  const all = (members: Iterable<unknown>): Json => Array.from(members, (member) => exactly(member, within));
  if (Array.isArray(value)) return ['list', all(value)];
  if (value instanceof Map) return ['map', all(value)];
  if (value instanceof Set) return ['set', all(value)];
  if (ArrayBuffer.isView(value))
    return ['bytes', all(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))];
  const toJSON: unknown = Reflect.get(value, 'toJSON');
  if (typeof toJSON === 'function') return ['json', exactly(Reflect.apply(toJSON, value, ['']), within)];
  if (!isError(value) && !isPlain(value)) return identityOf(value);
  const [told, keys] = isError(value)
    ? [[value.name, value.message, value.cause], Object.keys(value)]
    : [[], Reflect.ownKeys(value)];
  const members = keys.map((key) => [key, Reflect.get(value, key)]);
  return ['object', all(told), all(members.toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1)))];
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const identities = new WeakMap<WeakKey, number>();
let lastIdentity = 0;

function identityOf(value: WeakKey): Json {
  const known = identities.get(value) ?? ++lastIdentity;
  identities.set(value, known);
  return ['identity', known];
}

function agentMemory({ context, value }: SnapshotFrom<typeof agentMachine>, callsATurn: number): Json {
  const { settings, stats, plan, batch, step, failure } = context;
  const { maxTokens, maxToolCalls } = settings.budget;
  // The turn that is under way in PLANNING was counted already, and its calls are still to come.
  const turns = settings.maxSteps - context.stepsTaken + (typeof value === 'object' && 'PLANNING' in value ? 1 : 0);
  const plansMatter = settings.maxPlanIterations > 0 && stats.planIterations + turns > settings.maxPlanIterations;
  return [
    context.stepsTaken,
    plansMatter ? stats.planIterations : 0,
    stats.plansRefused > 0,
    stats.unusableInARow + turns >= 3 ? stats.unusableInARow : Math.min(stats.unusableInARow, 1),
    maxToolCalls === null ? 0 : stats.toolCallsRun,
    maxTokens === null ? 0 : stats.usage.totalTokens,
    context.toolCalling,
    context.toolset.tools.map(permissionOf),
    context.runInfo === null,
    plan === null ? null : [plan.steps.slice(plan.index).map(({ tool }) => tool), plan.outcomes.at(-1)?.kind ?? null],
    step === null ? null : step.verdict === 'refuse',
    batch === null
      ? null
      : [
          batch.runnable,
          batch.endsRun,
          batch.calls.map(({ request, verdict }, index) => [
            request.tool,
            request.unreadable === null,
            verdict === 'refuse',
            index < batch.started,
            batch.outcomes[request.callId]?.kind ?? null,
          ]),
        ],
    failure === null ? null : [failure.escalation?.severity ?? null, verdictKind(failure.verdict), failure.ran],
    context.shown.output === null
      ? null
      : [stats.corrections, stats.lastTurn, context.reply?.output?.issues.length ?? null],
    context.stats.verdicts.length,
    [stats.mail.waiting, stats.mail.delivered, stats.mail.queued].map((mail) => mail.map(({ id }) => id)),
    stats.mail.withdrawn,
    [context.override.model !== '', context.override.skill],
    ...listMemory(context.runInfo?.models ?? null),
    loopPattern(context.loop.context, { turns, calls: turns * callsATurn }),
  ];
}

function verdictKind(verdict: Failure['verdict']): string | null {
  return verdict === null || verdict === 'unhandled' ? verdict : verdict.kind;
}

function toolCallMemory(context: ToolCallContext): Json {
  const { request, spec, verdict, check, approved, error, denial, result, ran, progress, gaveUp } = context;
  const [last, before] = [progress.attempts.at(-1), progress.attempts.at(-2)];
  return [
    spec?.name ?? request.tool,
    spec === null ? null : permissionOf(spec),
    request.unreadable === null,
    verdict === 'refuse',
    check?.ok ?? null,
    approved,
    error === null ? null : [error.kind, error.kind === 'execution' && error.outcomeUnknown === true],
    denial?.kind ?? null,
    result?.status ?? null,
    Math.min(ran.times, 1),
    ran.asItStands,
    progress.slot,
    progress.taken,
    Object.entries(progress.slots).map(([slot, { index, used, steps }]) => [slot, index, used, steps.length]),
    last !== undefined && last.arguments === before?.arguments && last.error === before.error,
    gaveUp === null ? null : [gaveUp.kind, gaveUp.severity],
  ];
}

function llmCallMemory(context: LlmCallContext, pauses: boolean): Json {
  const { attempts, shortened, leftOut, toolCalling, error, list, failures } = context;
  const before = failures.map((failure) => (failure === null ? null : [failure.code, pauseOf(failure)]));
  return [
    attempts,
    shortened,
    leftOut,
    toolCalling,
    // What led to a pause decides for the laws whether the model may be asked after it.
    pauses && error !== null ? [error.code, error.data ?? null] : pauseOf(error),
    ...(list === null ? [] : [before, ...listMemory(list)]),
  ];
}

function pauseOf(error: LeafError | null): Json {
  return (isJsonObject(error?.data) ? error.data['retryAfterMs'] : undefined) ?? null;
}

/** What a run knows of several models; nothing if it has one. */
function listMemory(list: ModelList | null): readonly Json[] {
  if (list === null) return [];
  return [list.at, list.overflow, list.models.map(({ toolCalling, heldTo }) => [toolCalling, heldTo])];
}

function connectionMemory(context: McpConnectionContext): Json {
  const { failures, greeting, announced, heeded, auth, refusals, stepUps, scopes, error } = context;
  return [failures, greeting === null, announced > heeded, auth, refusals, stepUps, scopes.length, error?.code ?? null];
}

const LONGEST_CYCLE = 3;

/** How much can still come: turns of the model, and calls in them. */
interface Ahead {
  readonly turns: number;
  readonly calls: number;
}

/**
 * Where a loop detection stands, up to renaming the calls: how the latest calls repeat each other, how long each cycle has
 * lasted, how often calls have failed alike. What cannot lead to a refusal any more in what is ahead is left out, so two
 * memories with the same pattern judge all that follows alike.
 */
function loopPattern({ recent, failures, limit }: LoopContext, ahead: Ahead): Json {
  const latest = recent.slice(-LONGEST_CYCLE).toReversed();
  const nameOf = (key: string): number => latest.indexOf(key);
  const runs = Array.from({ length: LONGEST_CYCLE }, (_, index) => {
    const period = index + 1;
    const run = Math.min(repeats(recent, period), period * limit);
    return run + ahead.calls > period * (limit - 2) ? run : null;
  });
  const errors = [...new Set(Object.values(failures).map(({ error }) => error))];
  const failed = Object.entries(failures)
    .filter(([, { rounds }]) => rounds + ahead.turns >= limit)
    .map(([key, { error, rounds }]) => `${nameOf(key)}:${errors.indexOf(error)}:${Math.min(rounds, limit)}`)
    .sort();
  const matters = failed.length > 0 || runs.some((run) => run !== null);
  return matters ? [latest.map(nameOf), runs, failed] : null;
}

/** How many of the latest calls equal the call `period` before them. */
function repeats(keys: readonly string[], period: number): number {
  let same = 0;
  for (let at = keys.length - 1; at - period >= 0 && keys[at] === keys[at - period]; at--) same++;
  return same;
}

/**
 * What makes two states of a walk the same: the machines' abstraction, what is open, and what the laws remember of the
 * calls under way. `more` is what the caller's own laws depend on; `callsATurn` the most that a model makes at once.
 */
export function keyOf(run: ExploredRun, more: Json, callsATurn: number): string {
  const actors = run.actors();
  const calls = actors
    .filter(({ snapshot }) => isToolCall(snapshot))
    .map(({ path }) => {
      const { runs, brokenChecks, latest, approved, accepted, rejected, edited, always, answer } = callFacts(
        run.story,
        path,
      );
      return [
        Math.min(runs, MANY),
        Math.min(brokenChecks, 1),
        latest,
        approved,
        accepted !== null,
        rejected,
        edited !== null,
        always,
        answer,
      ];
    });
  const renamed = renaming();
  const memory = abstractionOf(actors, renamed, callsATurn);
  const open = [...run.open.values()].map(({ name }) => name).sort();
  const delayed = Object.values(run.actor.system.getSnapshot()._scheduledEvents)
    .map(({ target, event }) => JSON.stringify([renamed(actorPath(target)), exactly(event)]))
    .sort();
  const changes = run.story.filter((one) => one.kind === 'told' && one.event.type === 'tools.changed').length;
  return digest([memory, open, delayed, calls, changes, more]);
}

const MANY = 9;
