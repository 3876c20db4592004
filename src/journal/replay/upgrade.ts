/**
 * Owns: what a new version of an agent means for a run that has not ended. Nothing is performed: the run is replayed on
 * the bare machines, and what it knows of its agent is compared with the current agent.
 */
import type { AnyActorRef } from 'xstate';
import { digest } from '../../json/digest.ts';
import { type Json, type JsonSchema, isJsonObject, plainJson } from '../../json/json.ts';
import type { AgentContext } from '../../machines/agent/agent-context.ts';
import type { AgentSetup } from '../../machines/contract/agent-setup.ts';
import { isMachineSnapshot } from '../../machines/events/transition-log.ts';
import type { ToolCallContext } from '../../machines/tool-call/tool-call-context.ts';
import { issuesOf } from '../../parsing/schema/fit.ts';
import { lookUp } from '../../tools/lookup.ts';
import type { ToolSpec } from '../../tools/spec.ts';
import { RecordingError } from '../format/journal-error.ts';
import type { RunRecord } from '../format/record.ts';
import { type KnownTools, lastKnown, promptedHead } from '../format/recorded-tools.ts';
import type { Recording } from '../format/recording.ts';
import { ReplayDivergenceError } from './divergence.ts';
import { playRecording } from './replay.ts';

/** Whether a run can continue with a new version of its agent. */
export type UpgradeVerdict = 'compatible' | 'migrates' | 'must finish on the old version';

/** What a new version of an agent means for one run. */
export interface CheckedUpgrade {
  readonly verdict: UpgradeVerdict;
  /** What is different, each as a sentence without its full stop; those that forbid the upgrade first. */
  readonly differences: readonly string[];
}

/** Compares a run that has not ended with the head that a run of the current agent would have. */
export function checkedUpgrade(recording: Recording, now: RunRecord): CheckedUpgrade {
  try {
    const forbidding = openCallsLost(recording, toolsNow(now)).map(({ said }) => said);
    const differences = differencesOf(recording, now);
    if (forbidding.length > 0)
      return { verdict: 'must finish on the old version', differences: [...forbidding, ...differences] };
    return { verdict: differences.length === 0 ? 'compatible' : 'migrates', differences };
  } catch (error) {
    if (!(error instanceof ReplayDivergenceError || error instanceof RecordingError)) throw error;
    const what =
      error instanceof ReplayDivergenceError
        ? `the machines play record ${error.entry} differently: recorded is ${error.expected}, now ${error.actual}`
        : error.message;
    return { verdict: 'must finish on the old version', differences: [what] };
  }
}

/** What is different about an agent's own code, as far as a resumed run is concerned. */
export interface UpgradeDifferences {
  /** The tools of open calls that are gone, or no longer take the recorded arguments. */
  readonly forbidding: readonly string[];
  /** What the tools of open calls take now, by the calls' ids, where they no longer take what was recorded. */
  readonly retyped: ReadonlyMap<string, JsonSchema>;
  readonly differences: readonly string[];
  /** Its instructions are others, or what makes them may be. */
  readonly isPromptOther: boolean;
}

/**
 * What has changed in an agent's own code since a run of it was begun. What MCP servers offer is not part of it, and
 * changed machines are found out when the run is replayed.
 */
export function upgradeDifferences(recording: Recording, now: RunRecord): UpgradeDifferences {
  const head = promptedHead(recording);
  const known = ownTools(lastKnown(recording));
  const after = ownTools(toolsNow(now));
  const ofAgent = agentDifferences(head, now);
  const ofTools = toolDifferences(known, after);
  const lost = ofTools.length === 0 ? [] : openCallsLost(recording, after);
  return {
    forbidding: lost.map(({ said }) => said),
    retyped: new Map(lost.flatMap(({ callId, takes }) => (takes === undefined ? [] : [[callId, takes]]))),
    differences: [...ofAgent, ...ofTools],
    isPromptOther:
      head.instructions !== now.instructions ||
      head.promptByCode !== now.promptByCode ||
      (head.promptByCode && head.version !== now.version),
  };
}

function toolsNow({ toolset, children = [] }: RunRecord): KnownTools {
  return { toolset, children };
}

function ownTools({ toolset, children }: KnownTools): KnownTools {
  return {
    toolset: { ...toolset, tools: toolset.tools.filter(({ origin }) => origin.kind !== 'mcp'), servers: [] },
    children: children.map(({ tool, setup }) => ({ tool, setup: { ...setup, ...ownTools(setup) } })),
  };
}

/** An open call that the new code does not do. `takes`: what its tool takes now; absent: it is gone. */
interface LostCall {
  readonly callId: string;
  readonly said: string;
  readonly takes?: JsonSchema;
}

/** The calls under way of a run whose tools are gone, or no longer take the recorded arguments. */
function openCallsLost(recording: Recording, now: KnownTools): readonly LostCall[] {
  const { driven } = playRecording(recording);
  return openCalls(driven.actor).flatMap(({ callId, agent, spec, args }): readonly LostCall[] => {
    const tools = toolsAt(now, agent);
    if (spec.origin.kind === 'mcp' && tools?.every(({ origin }) => origin.kind !== 'mcp') === true) return [];
    // Of an agent that repairs calls nothing is known but what it was begun with.
    if (tools === null) return [];
    const tool = tools.find(({ name }) => name === spec.name);
    const call = `call ${callId} of the tool '${spec.name}' is open`;
    if (tool === undefined) return [{ callId, said: `${call}, and the tool is gone` }];
    if (issuesOf(args, spec.inputSchema).length > 0) return [];
    const [issue] = issuesOf(args, tool.inputSchema);
    if (issue === undefined) return [];
    const at = issue.path === '' ? '' : ` at ${issue.path}`;
    const said = `${call}, and its schema no longer takes the recorded arguments${at}: ${issue.message}`;
    return [{ callId, said, takes: tool.inputSchema }];
  });
}

interface OpenCall {
  readonly callId: string;
  /** Where the agent that calls is in the tree of agents; empty for the root. */
  readonly agent: string;
  readonly spec: ToolSpec;
  readonly args: Json;
}

/** The calls of an agent and of those below that have begun and are not over, and those of a turn that wait for their place. */
function openCalls(actor: AnyActorRef): readonly OpenCall[] {
  const snapshot: unknown = actor.getSnapshot();
  if (!isMachineSnapshot(snapshot) || snapshot.status !== 'active') return [];
  const below = Object.values<AnyActorRef | undefined>(snapshot.children).flatMap((child) =>
    child === undefined ? [] : openCalls(child),
  );
  if (snapshot.machine.id === 'agent') return [...below, ...callsToStart(snapshot.context)];
  if (snapshot.machine.id !== 'toolCall') return below;
  const { request, spec, args, caller }: ToolCallContext = snapshot.context;
  return spec === null ? below : [{ callId: request.callId, agent: caller.agent, spec, args }, ...below];
}

function callsToStart({ batch, place, toolset }: AgentContext): readonly OpenCall[] {
  const waiting = batch?.calls.slice(batch.started, batch.runnable) ?? [];
  return waiting.flatMap(({ request }) => {
    const found = lookUp(toolset.tools, request.tool);
    return found.ok ? [{ callId: request.callId, agent: place.agent, spec: found.spec, args: request.args }] : [];
  });
}

/** The tools of an agent by its place in the tree of agents; null: there is none. */
function toolsAt({ toolset, children }: KnownTools, place: string): readonly ToolSpec[] | null {
  if (place === '') return toolset.tools;
  const child = children.find(({ tool }) => place === tool || place.startsWith(`${tool}/`));
  return child === undefined ? null : toolsAt(child.setup, place.slice(child.tool.length + 1));
}

function differencesOf(recording: Recording, now: RunRecord): readonly string[] {
  const head = promptedHead(recording);
  return [
    ...(head.machine.hash === now.machine.hash ? [] : ['the machines are others, and play the run alike']),
    ...agentDifferences(head, now),
    ...toolDifferences(lastKnown(recording), toolsNow(now)),
  ];
}

type Told = Pick<AgentSetup, 'version' | 'instructions' | 'promptByCode' | 'output'>;

/** What has become of an agent itself; how it is asked and its limits are as recorded, whatever they are now. */
function agentDifferences(was: Told, now: Told): readonly string[] {
  const byCode = was.promptByCode ? ', and its prompt is made by code' : '';
  return [
    ...(was.version === now.version ? [] : [`version ${named(was.version)} is ${named(now.version)} now${byCode}`]),
    ...(was.instructions === now.instructions && was.promptByCode === now.promptByCode
      ? []
      : ['the instructions differ']),
    ...(was.output?.ofRun === true || isSame(answerOf(was), answerOf(now)) ? [] : ['the schema of the answer differs']),
  ];
}

function named(version: string | undefined): string {
  return version === undefined ? '(none)' : `'${version}'`;
}

function answerOf({ output }: Told): object {
  return output === undefined ? {} : { schema: output.schema, mode: output.mode };
}

function toolDifferences(known: KnownTools, current: KnownTools): readonly string[] {
  const [was, now] = [known.toolset, current.toolset];
  return [
    ...membersDiffer('tool', was.tools, now.tools, ({ name }) => name, toolChange),
    ...membersDiffer('MCP server', was.servers, now.servers, ({ server }) => server, changed),
    ...membersDiffer('skill', was.skills, now.skills, ({ name }) => name, changed),
    ...(isSame(was.recovery, now.recovery) ? [] : ['what is done about unknown tools differs']),
    ...known.children.flatMap(({ tool, setup }) => {
      const child = current.children.find((one) => one.tool === tool)?.setup;
      // One that is gone is a tool that is gone.
      if (child === undefined) return [];
      const differences = [...agentDifferences(setup, child), ...toolDifferences(setup, child)];
      return differences.map((difference) => `agent '${tool}': ${difference}`);
    }),
  ];
}

function membersDiffer<T extends object>(
  kind: string,
  was: readonly T[],
  now: readonly T[],
  nameOf: (one: T) => string,
  change: (one: T, other: T) => string | null,
): readonly string[] {
  const names = new Set([...was, ...now].map(nameOf));
  return [...names].flatMap((name) => {
    const [before, after] = [was, now].map((list) => list.find((one) => nameOf(one) === name));
    if (before === undefined) return [`${kind} '${name}' is new`];
    if (after === undefined) return [`${kind} '${name}' is gone`];
    const what = change(before, after);
    return what === null ? [] : [`${kind} '${name}': ${what}`];
  });
}

/** What a person once allowed is not part of the code. */
function toolChange(was: ToolSpec, now: ToolSpec): string | null {
  const { alwaysAllowed: _was, changes: _before, policy: before, ...rest } = was;
  const { alwaysAllowed: _now, changes: _after, policy: after, ...other } = now;
  const policy = before === after ? null : `policy '${before}' is '${after}' now`;
  return [policy, changed(rest, other)].filter((one) => one !== null).join(', ') || null;
}

function changed(was: object, now: object): string | null {
  const [before, after] = [plainJson(was), plainJson(now)];
  if (!isJsonObject(before) || !isJsonObject(after)) return null;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const different = names.filter((name) => !isSame(before[name] ?? null, after[name] ?? null));
  return different.length === 0 ? null : `${different.join(', ')} changed`;
}

function isSame(one: unknown, other: unknown): boolean {
  return digest(plainJson(one)) === digest(plainJson(other));
}
