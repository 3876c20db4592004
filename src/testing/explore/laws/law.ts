import type { AgentSettings, RankedModel } from '../../../machines/contract/agent-setup.ts';
import type { AgentOutput } from '../../../machines/contract/run-result.ts';
import type { ShownOutput } from '../../../machines/agent/typed-output.ts';
import type { JsonSchema } from '../../../json/json.ts';
import type { ToolSpec } from '../../../tools/spec.ts';
import { type ExploredRun, type LiveActor, isAgent, isLlmCall, isToolCall } from '../walk/explored-run.ts';
import type { Happening, Story } from '../walk/story.ts';

/** Something that must hold at every state of every path. */
export interface Law {
  /** Short and stable, `permission`. */
  readonly name: string;
  /** The law in one sentence. */
  readonly says: string;
  /** What is wrong here; null when nothing is. */
  readonly check: (situation: Situation) => string | null;
}

/** What a law is shown: the whole story, and what of it is new. */
export interface Situation {
  readonly run: ExploredRun;
  readonly story: Story;
  readonly fresh: readonly Happening[];
  readonly actors: readonly LiveActor[];
  /** The limits that the machine was given; null for a machine that has none of ours. */
  readonly settings: AgentSettings | null;
  /** The tools that the machine was given. */
  readonly tools: readonly ToolSpec[];
  /** What the answer must be; null: text. */
  readonly schema: JsonSchema | null;
  /** How it is asked for; null where it is text. */
  readonly shown: ShownOutput | null;
  /** The models that the machine was given, where there are several; empty: one. */
  readonly models: readonly RankedModel[];
  /** What an agent ended with; null while it runs, and for other machines. */
  readonly output: AgentOutput | null;
}

/** What is new, each with the story before it. */
export function* news({ story, fresh }: Pick<Situation, 'story' | 'fresh'>) {
  for (const [index, one] of fresh.entries())
    yield { one, before: story.slice(0, story.length - fresh.length + index) };
}

/** The current situation of a walk; `since`: how much of the story was judged before. */
export function situationOf(run: ExploredRun, since: number): Situation {
  const actors = run.actors();
  const [root] = actors;
  const given = root === undefined ? null : givenTo(root);
  const shown = root !== undefined && isAgent(root.snapshot) ? root.snapshot.context.shown.output : null;
  return {
    run,
    story: run.story,
    fresh: run.story.slice(since),
    actors,
    settings: given?.settings ?? null,
    tools: given?.tools ?? [],
    schema: shown?.spec.schema ?? null,
    shown,
    models: root === undefined ? [] : modelsOf(root),
    output: root !== undefined && isAgent(root.snapshot) ? (root.snapshot.output ?? null) : null,
  };
}

function modelsOf({ snapshot }: LiveActor): readonly RankedModel[] {
  if (isAgent(snapshot)) return snapshot.context.runInfo?.models?.models ?? [];
  return isLlmCall(snapshot) ? (snapshot.context.list?.models ?? []) : [];
}

function givenTo({
  snapshot,
}: LiveActor): { readonly settings: AgentSettings; readonly tools: readonly ToolSpec[] } | null {
  if (isAgent(snapshot)) return { settings: snapshot.context.settings, tools: snapshot.context.toolset.tools };
  if (isToolCall(snapshot)) return { settings: snapshot.context.settings, tools: snapshot.context.tools };
  return isLlmCall(snapshot) ? { settings: snapshot.context.settings, tools: [] } : null;
}
