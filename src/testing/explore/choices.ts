import type { Effect, OutsideEvent } from '../../actors/journal.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { PathChoice, ExploredRun } from './walk/explored-run.ts';
import { type LiveActor, isAgent, isLlmCall, isMcpConnection, isToolCall } from './walk/explored-run.ts';
import { type KnownTool, type LeafScene, type OutcomesOf, outcomeFrom, sampleArguments } from './outcomes/outcome.ts';
import { OUTCOMES, unknownOutcomes } from './outcomes/outcomes.ts';
import { ownerOf } from './walk/story.ts';
import type { View } from './walk/exploration.ts';
import type { ToolSpec } from '../../tools/spec.ts';

/** What a caller adds to the table of outcomes and events. */
export interface World {
  readonly outcomes: { readonly [leaf: string]: OutcomesOf };
  readonly events: ((view: View) => readonly OutsideEvent[]) | null;
  readonly arguments: { readonly [tool: string]: JsonObject };
  /** Receives what could only be explored in part. */
  readonly onGap: (gap: string) => void;
}

/** All that can happen next: every outcome of all that is open, every timer, every event from outside. */
export function choicesOf(run: ExploredRun, world: World): readonly PathChoice[] {
  if (run.isOver()) return [];
  const actors = run.actors();
  const outcomes = [...run.open.values()].flatMap((effect) => outcomesOf(effect, actors, world));
  return [...outcomes, ...eventsOf(run, actors, world)];
}

function outcomesOf(effect: Effect, actors: readonly LiveActor[], world: World): readonly PathChoice[] {
  if (effect.ms !== undefined) return [{ label: `${effect.ms} ms pass`, entry: { t: 'timer', id: effect.id } }];
  const table = world.outcomes[effect.name] ?? OUTCOMES.get(effect.name);
  if (table === undefined) world.onGap(`the leaf ${effect.name} was explored as failing only: give its outcomes`);
  const outcomes = (table ?? unknownOutcomes)(sceneOf(effect, actors, world));
  const who = subjectOf(effect);
  return outcomes.map((one) => ({
    label: `${who} ${one.label}`,
    entry: { t: 'outcome', id: effect.id, out: outcomeFrom(one) },
  }));
}

const WHO: { readonly [leaf: string]: string } = {
  callLlm: 'the model',
  checkArgs: 'the check of',
  checkOutput: 'the check',
  askApproval: 'the person asked about',
  rememberPermission: 'the permission for',
  runFixer: 'the recovery of',
};

/** Who does something, in words: `the model`, `look`, `the check of look`. */
function subjectOf({ name, request }: Effect): string {
  const tool = isJsonObject(request) && typeof request.tool === 'string' ? request.tool : '';
  const call = isJsonObject(request) && typeof request.callId === 'string' ? ` (${request.callId})` : '';
  if (name === 'callTool') return `${tool}${call}`;
  return [WHO[name] ?? name, `${tool}${call}`].filter((part) => part !== '').join(' ');
}

function sceneOf(effect: Effect, actors: readonly LiveActor[], world: World): LeafScene {
  const owner = ownerOf(effect);
  return {
    effect,
    tools: toolsNear(owner, actors),
    output: outputNear(owner, actors),
    again: isAskedAgain(owner, actors),
    first: isFirstOfTurn(owner, actors),
    tokens: tokensOf(actors),
    argumentsFor: (tool): Json | undefined => {
      const args = world.arguments[tool.name] ?? sampleArguments(tool.inputSchema);
      if (args === undefined)
        world.onGap(`no arguments could be made up for ${tool.name}: give some in the option arguments`);
      return args;
    },
  };
}

/** The machine at a path and those above it, innermost first. */
function chainTo(path: string, actors: readonly LiveActor[]): readonly LiveActor[] {
  return actors.filter((actor) => path === actor.path || path.startsWith(`${actor.path}/`)).toReversed();
}

/** The tools of an actor's nearest agent, or those of a bare machine. */
function toolsNear(path: string, actors: readonly LiveActor[]): readonly KnownTool[] {
  const above = chainTo(path, actors);
  for (const { snapshot } of above) {
    if (isAgent(snapshot)) return snapshot.context.toolset.tools.map(known);
    if (isToolCall(snapshot)) return snapshot.context.tools.map(known);
    if (isLlmCall(snapshot) && above.length === 1)
      return snapshot.context.tools.map(({ name, inputSchema }) => ({ name, inputSchema, usable: true }));
  }
  return [];
}

/** How the nearest agent asks for its answer, where that has a schema. */
function outputNear(path: string, actors: readonly LiveActor[]): LeafScene['output'] {
  const agent = chainTo(path, actors).find(({ snapshot }) => isAgent(snapshot))?.snapshot;
  return agent !== undefined && isAgent(agent) ? agent.context.shown.output : null;
}

function known({ name, inputSchema, policy, enabled, needsApproval }: ToolSpec): KnownTool {
  return { name, inputSchema, usable: enabled && policy !== 'deny', needsApproval };
}

function isAskedAgain(path: string, actors: readonly LiveActor[]): boolean {
  const turn = actors.find((actor) => actor.path === path)?.snapshot;
  if (turn === undefined || !isLlmCall(turn)) return false;
  const agent = actors.find((actor) => path.startsWith(`${actor.path}/`))?.snapshot;
  const { attempts, shortened, leftOut, toolCalling } = turn.context;
  return (
    attempts > 1 ||
    shortened ||
    leftOut > 0 ||
    (agent !== undefined && isAgent(agent) && agent.context.toolCalling !== toolCalling)
  );
}

function isFirstOfTurn(path: string, actors: readonly LiveActor[]): boolean | null {
  const turn = actors.find((actor) => actor.path === path)?.snapshot;
  if (turn === undefined || !isLlmCall(turn) || turn.context.list === null) return null;
  return (turn.context.failures[turn.context.list.at] ?? null) === null;
}

/** A third of the budget a reply: it lasts for some turns, and then it does not. */
function tokensOf([root]: readonly LiveActor[]): number | null {
  if (root === undefined || !isAgent(root.snapshot)) return null;
  const { maxTokens } = root.snapshot.context.settings.budget;
  return maxTokens === null ? null : Math.ceil(maxTokens / 3);
}

function eventsOf(run: ExploredRun, actors: readonly LiveActor[], world: World): readonly PathChoice[] {
  const [root] = actors;
  const given = world.events === null ? [] : world.events(run.view());
  const toRoot = [...given, ...(root === undefined ? [] : ownEvents(root))];
  return [
    ...toRoot.filter((event) => run.accepts(event)).map((event) => choiceOf(event)),
    ...actors.flatMap((actor) => approvalsOf(actor).map((event) => choiceOf(event, actor.path))),
  ];
}

function choiceOf(event: OutsideEvent, to?: string): PathChoice {
  const { type, ...details } = event;
  const more = Object.keys(details).length === 0 ? '' : ` ${JSON.stringify(details)}`;
  const label = `${type}${more}${to === undefined ? '' : ` to ${to}`}`;
  return { label, entry: to === undefined ? { t: 'event', event } : { t: 'event', event, to } };
}

function ownEvents({ snapshot }: LiveActor): readonly OutsideEvent[] {
  if (isAgent(snapshot)) return [CANCEL];
  if (!isMcpConnection(snapshot)) return [];
  const { generation } = snapshot.context;
  const error = { code: 'not-connected', message: 'The link was lost.' };
  const toConnect = ['connection.wanted', 'connection.stopped', 'call.wanted', 'tools.wanted'];
  const wishes = [...toConnect, 'login.wanted', 'login.cancelled'];
  const noScope = { code: 'insufficient-scope', message: 'It needs another scope.', data: { scopes: ['write'] } };
  return [
    ...wishes.map((type) => ({ type })),
    { type: 'link.lost', generation, error },
    { type: 'link.lost', generation: generation - 1, error },
    { type: 'scope.missing', generation, error: noScope },
    { type: 'link.doubted', generation },
    { type: 'link.proved', generation },
    { type: 'tools.changed', generation },
  ];
}

/** The cancel that is explored at every point. */
export const CANCEL: OutsideEvent = { type: 'run.cancelled', reason: 'cancelled by the exploration' };

/** What a person can say to a call that waits. */
function approvalsOf({ snapshot, state }: LiveActor): readonly OutsideEvent[] {
  if (!isToolCall(snapshot) || state !== 'AWAITING_APPROVAL.ASKING') return [];
  return [
    { type: 'approval.given', always: false, args: null },
    { type: 'approval.given', always: true, args: null },
    { type: 'approval.given', always: false, args: { ...snapshot.context.args, edited: true } },
    { type: 'approval.given', always: true, args: { ...snapshot.context.args, edited: true } },
    { type: 'approval.refused', reason: 'not now' },
  ];
}
