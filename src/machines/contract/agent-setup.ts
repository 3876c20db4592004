import type { Message, Part, ToolCalling } from '../../actors/model.ts';
import type { JsonSchema } from '../../json/json.ts';
import type { TextCalls } from '../../parsing/reply/reply-source.ts';
import { type Backoff, BUSY_BACKOFF, DEFAULT_BACKOFF } from '../../recovery/backoff.ts';
import type { RecoveryData } from '../../recovery/plan-data.ts';
import type { SentMessage } from './mail.ts';
import { type CallPolicy, stricterPolicy, type ToolSpec } from '../../tools/spec.ts';

/** The limits and switches that the machines obey. Times in milliseconds; null means no limit. */
export interface AgentSettings {
  readonly maxSteps: number;
  /** 0: unlimited. */
  readonly maxPlanIterations: number;
  readonly maxConsecutiveRepeats: number;
  readonly maxToolResultChars: number;
  readonly connectMs: number;
  /** Longest silence of the model; null: the model's own default. */
  readonly responseMs: number | null;
  readonly approvalMs: number | null;
  readonly totalMs: number | null;
  readonly maxAttempts: number;
  readonly backoff: Backoff;
  /** Instead of `backoff` after a 429 or 5xx without `Retry-After`. Absent where the user gave one, and in older recordings. */
  readonly busyBackoff?: Backoff;
  /**
   * The edition of the texts for models; a replay uses the recorded one. Absent in recordings of 0.1; 3 fences texts from
   * servers.
   */
  readonly texts?: 2 | 3;
  readonly parallelToolCalls: boolean;
  readonly streaming: boolean;
  readonly temperature: number | null;
  readonly maxTokens: number | null;
  readonly maxArgumentBytes: number;
  readonly maxResultBytes: number;
  readonly budget: { readonly maxToolCalls: number | null; readonly maxTokens: number | null };
  /** How long one function of `onError` or one repair agent may take. */
  readonly fixMs: number;
  /** How many messages of people a run takes for the turns of its model; absent: 20. */
  readonly maxSteers?: number;
  /** Fixes the jitter of waits between repeated calls. */
  readonly jitterSeed: number;
  /** How the option `toolCalling` stands; absent: `auto`. */
  readonly toolCalling?: 'auto' | ToolCalling;
  /** False: planning is not offered to the model, and its plans are not run; absent: true. */
  readonly plans?: boolean;
  /** The text of a reply that calls nothing is the arguments of a call: those of a repair agent. Absent: it is an answer. */
  readonly answers?: 'arguments';
  /** Which text may become a call; absent: what the way of calling tools asks for. */
  readonly textCalls?: TextCalls;
  /**
   * Whether images of results are sent to the model, or only named with type and size. Absent in older recordings, whose
   * replays send what was sent then: all of a result as text.
   */
  readonly images?: 'sent' | 'named';
  /**
   * What becomes of the older exchanges of a conversation for which the model's context has no room, although older results
   * are shortened. Absent in older recordings: they stay, and the run fails.
   */
  readonly longHistory?: 'left-out';
  /** The files of a user's message are sent to the model; absent: an input with files is refused. */
  readonly files?: 'sent';
}

/** An MCP server as described to the model. */
export interface ServerNote {
  readonly server: string;
  /** The server's instructions for its use; empty if there are none. */
  readonly instructions: string;
  readonly ready: boolean;
  /** Why it is not ready, if a person can help: someone has to sign in. */
  readonly needs?: 'login';
}

/** A skill as described to the model. */
export interface SkillNote {
  readonly name: string;
  readonly instructions: string;
  readonly tools: readonly string[];
}

/** The tools that a run may use, and what their servers say: data, never a live registry. */
export interface Toolset {
  readonly tools: readonly ToolSpec[];
  readonly servers: readonly ServerNote[];
  readonly skills: readonly SkillNote[];
  /** What the agent does about calls of unknown tools. */
  readonly recovery: RecoveryData;
  /** Policies by tool that no later change loosens: those that a run was resumed with. Set by the machine. */
  readonly floors?: { readonly [tool: string]: CallPolicy };
}

/** What a run receives about changed tools, including those of the agents below. */
export interface ToolsChanged {
  readonly type: 'tools.changed';
  readonly toolset: Toolset;
  readonly children?: readonly ChildSetup[];
  /**
   * Set when the run is resumed, before anything continues: no tool gets a weaker policy than it had, and calls under way
   * that may no longer run as they are go through the gate again.
   */
  readonly restart?: Restart;
  /** The new prompt of a run that is resumed by other code; absent: it stays. */
  readonly prompt?: PromptChange;
}

/** Other instructions (`byCode`: a function makes the prompt of each turn), or a prompt that stays as it is. */
export type PromptChange =
  | { readonly instructions: string; readonly byCode: boolean }
  | { readonly [mode in ToolCalling]: string };

/** The ids of the calls whose tools were running when a run was interrupted. */
export interface Restart {
  /** The tool had really been started. */
  readonly begun: readonly string[];
  /** Those whose tools are not run a second time: their outcome is known, or known to be unknown. */
  readonly notRepeated: readonly string[];
}

/**
 * How a model gives an answer that has a schema: as a call of a special tool, enforced by the server, or as JSON in its
 * text. `auto`: by a tool if there are tools, else by the server if it can.
 */
export const OUTPUT_MODES = ['auto', 'tool', 'native', 'prompt'] as const;

/** One of the ways in which a model gives an answer that has a schema. */
export type OutputMode = (typeof OUTPUT_MODES)[number];

/** What the answer of a run must be. */
export interface OutputSpec {
  readonly schema: JsonSchema;
  readonly mode: OutputMode;
  /** How long code may check the answer (a Standard Schema, `checkOutput`), in milliseconds; null: none does. */
  readonly checkMs: number | null;
  /** The model takes a schema and tools in one request. */
  readonly besideTools: boolean;
  /** The run was given it, not its agent: a replay by the agent takes it from the recording. */
  readonly ofRun?: true;
}

/** One of several models of an agent: what is known of it when the run begins. */
export interface RankedModel {
  /** Its `id`, else its place in the list. */
  readonly name: string;
  readonly toolCalling: ToolCalling;
  readonly callsNatively: boolean;
  readonly takesImages: boolean;
  /** Absent: no. */
  readonly takesFiles?: true;
  readonly takesSchemaWithTools: boolean;
  /** In tokens; absent: not known. */
  readonly contextSize?: number;
}

/** Everything that a run knows of its agent: one immutable JSON value, written into the recording's first line. */
export interface AgentSetup {
  readonly agent: string;
  /** The version that the agent's option names; absent: none. */
  readonly version?: string;
  readonly instructions: string;
  /** The instructions or the prompt are made by a function: a leaf is asked before each model turn. */
  readonly promptByCode: boolean;
  readonly toolset: Toolset;
  readonly toolCalling: ToolCalling;
  /** The model has called natively before, at this endpoint: no text of it becomes a call. */
  readonly callsNatively: boolean;
  readonly settings: AgentSettings;
  readonly seed: number;
  /** Things that went wrong before the run began, such as a server that is not ready. */
  readonly warnings: readonly string[];
  /** The agents below, by the names of the tools that hand them a task. */
  readonly children: readonly ChildSetup[];
  /** Code decides about escalations, so a leaf is asked. */
  readonly escalates: boolean;
  /** What the answer must be; absent: text. */
  readonly output?: OutputSpec;
  /** The models in the order in which they are asked, where there are several; absent: one. */
  readonly models?: readonly RankedModel[];
}

/** An agent below another, as its tool calls it. */
export interface ChildSetup {
  readonly tool: string;
  readonly setup: AgentSetup;
}

/** Where in the tree of agents a run is. */
export interface Place {
  /** The tools that lead here from the root, joined with `/`; empty for the root itself. */
  readonly agent: string;
  /** What the ids of its calls begin with. */
  readonly callPrefix: string;
}

/** The root of the tree. */
export const ROOT_PLACE: Place = { agent: '', callPrefix: 'c' };

/** What the agent machine starts from. Without `setup` it asks the actor `describeAgent` for it. */
export interface AgentInput {
  readonly task: string;
  /** The task as text, images and files; absent: it is text alone. */
  readonly content?: readonly Part[];
  readonly history?: readonly Message[];
  readonly setup?: AgentSetup;
  /** Default: the root. */
  readonly place?: Place;
  /** Messages for the runs after this one, which it passes on. */
  readonly queued?: readonly SentMessage[];
  /** Set if the run was cancelled before it began: the reason. It ends without a request. */
  readonly cancelled?: string;
  /** Set when the run cannot begin, such as for a required server that is not there. It ends as failed. */
  readonly refused?: { readonly code: string; readonly message: string };
}

/** The defaults of all settings. */
export const DEFAULT_SETTINGS: AgentSettings = {
  maxSteps: 20,
  maxPlanIterations: 3,
  maxConsecutiveRepeats: 4,
  maxToolResultChars: 4000,
  connectMs: 30_000,
  responseMs: null,
  approvalMs: null,
  totalMs: null,
  maxAttempts: 2,
  backoff: DEFAULT_BACKOFF,
  busyBackoff: BUSY_BACKOFF,
  texts: 3,
  images: 'named',
  longHistory: 'left-out',
  parallelToolCalls: true,
  streaming: false,
  temperature: null,
  maxTokens: null,
  maxArgumentBytes: 1_000_000,
  maxResultBytes: 10_000_000,
  budget: { maxToolCalls: null, maxTokens: null },
  fixMs: 180_000,
  jitterSeed: 0,
};

/** The tools after a change; those of a resumed run stay as strict as they were. */
export function toolsetAfter(before: Toolset, now: Toolset, isRestart: boolean): Toolset {
  const known = { ...before.floors, ...(isRestart ? policiesOf(before.tools) : {}) };
  if (!isRestart && before.floors === undefined) return now;
  const tools = now.tools.map((tool): ToolSpec => {
    const floor = Object.hasOwn(known, tool.name) ? known[tool.name] : undefined;
    if (floor === undefined) return tool;
    const { needsApproval: _, ...rest } = tool;
    return { ...rest, ...stricterPolicy(floor, tool) };
  });
  return { ...now, tools, floors: isRestart ? { ...known, ...policiesOf(tools) } : known };
}

function policiesOf(tools: readonly ToolSpec[]): NonNullable<Toolset['floors']> {
  return Object.fromEntries(
    tools.map(({ name, policy, needsApproval }) => [name, needsApproval ? { policy, needsApproval } : { policy }]),
  );
}

/** The agents below after a change, each held to what it was as the tools of a run are. */
export function childrenAfter(
  before: readonly ChildSetup[],
  now: readonly ChildSetup[],
  isRestart: boolean,
): readonly ChildSetup[] {
  return now.map(({ tool, setup }) => {
    const was = before.find((child) => child.tool === tool)?.setup;
    if (was === undefined) return { tool, setup };
    const toolset = toolsetAfter(was.toolset, setup.toolset, isRestart);
    return { tool, setup: { ...setup, toolset, children: childrenAfter(was.children, setup.children, isRestart) } };
  });
}

/** How many steps a machine may take on one event. Ours take a dozen: more is a mistake, and an error beats a hang. */
export const MOST_MICROSTEPS = 1000;
