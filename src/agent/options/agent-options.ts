import { CHILD, type ChildAgent, type InstructionsInput } from './option-types.ts';
import type { AgentLimits, OnUpgrade, Permissions } from './option-types.ts';
import type { Confirm } from '../../actors/ask-approval.ts';
import type { Message, Model, ToolCalling } from '../../actors/model.ts';
import type { Telemetry } from '../../actors/telemetry.ts';
import type { RunPort } from '../../inspector/frames/run-port.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import type { PromptParts } from '../../machines/agent/system-prompt.ts';
import type { McpElicit } from '../../mcp/config/answers.ts';
import type { McpConnection } from '../../mcp/connection-types.ts';
import type { McpServerConfig } from '../../mcp/config/config.ts';
import { mcpLimitsSchema } from '../../mcp/config/server-limits.ts';
import type { ModelName } from '../../models/endpoint/presets.ts';
import type { OutputHandler } from '../../output/output-handler.ts';
import type { JsonObject } from '../../json/json.ts';
import type { NamesAs } from '../../json/known-options.ts';
import type { Shape } from '../../json/shape.ts';
import { z } from '../../json/shapes.ts';
import type { TextCalls } from '../../parsing/reply/reply-source.ts';
import type { Backoff } from '../../recovery/backoff.ts';
import { checkOnError } from '../../recovery/plan-data.ts';
import { backoffShape } from '../../recovery/recover.ts';
import type { OnError, RepairTask } from '../../recovery/steps.ts';
import type { OnEscalation } from '../../recovery/verdicts.ts';
import { OUTPUT_MODES, type OutputMode } from '../../machines/contract/agent-setup.ts';
import { type Skill, isSkill } from '../../tools/skill.ts';
import { POLICIES, type Policy } from '../../tools/spec.ts';
import type { ToolFor } from '../../tools/tool.ts';
import type { CheckOutput } from './output-options.ts';
import { optionError, withoutUndefined } from './option-error.ts';

/** All options of an agent. Each has a default; an invalid one is rejected by name when the agent is created. */
export interface AgentOptions<TContext = unknown, TSchema = undefined> {
  /** Names the agent in outputs, recordings and the permission store. Default `agent`. */
  readonly name?: string | undefined;
  /** Names this version of the agent's code in recordings, for example for `signalbox upgrade`. Default: none. */
  readonly version?: string | undefined;
  /** How a run continues under changed code. Default: with its own instructions and the new tools; refused if an open call no longer fits. */
  readonly onUpgrade?: OnUpgrade | undefined;
  /** What the agent is and does: text, or a function called once a turn. */
  readonly instructions?: string | ((input: InstructionsInput<TContext>) => string | Promise<string>) | undefined;
  /** Replaces the composition of the system prompt. */
  readonly systemPrompt?: ((parts: PromptParts) => string | Promise<string>) | undefined;
  /** A model, or a name such as `'ollama:qwen2.5:7b'`; if one of several fails, the next is asked. Default: discovered. */
  readonly model?: ModelName | Model | readonly (ModelName | Model)[] | undefined;
  /** More models by name, for `to.retryWithModel` of `onEscalation`. */
  readonly models?: { readonly [name: string]: ModelName | Model } | undefined;
  readonly tools?: readonly ToolFor<TContext>[] | undefined;
  /** The schema of `result.output`: zod, another Standard Schema with a JSON Schema, or a JSON Schema. Default: text. */
  readonly outputSchema?: TSchema | undefined;
  /** How it is given: by a tool, enforced by the server (`native`), as JSON in text (`prompt`). Default `auto`: by the tools. */
  readonly outputMode?: OutputMode | undefined;
  /** Checks an answer that fits the schema. The model receives the message of what it throws, and sends the answer again. */
  readonly checkOutput?: CheckOutput<TContext, TSchema> | undefined;
  /** Groups of tools with their own instructions and error handling. */
  readonly skills?: readonly Skill[] | undefined;
  /** MCP servers by name, as every client configures them, or connections made by `createMcpConnection`. */
  readonly mcpServers?: { readonly [name: string]: McpServerConfig | McpConnection } | undefined;
  /** Model turns and plan steps per run. Default 20. */
  readonly maxSteps?: number | undefined;
  /** Messages from people (`run.steer`) per run. Default 20. */
  readonly maxSteers?: number | undefined;
  /** Plans that a run may carry out; 0 means unlimited. Default 3. */
  readonly maxPlanIterations?: number | undefined;
  /** The round at which a repeated call, or cycle of up to three calls, is refused and ends the run. At least 2; default 4: the fourth in a row. */
  readonly maxConsecutiveRepeats?: number | undefined;
  /** Messages of the conversation kept between runs; 0 means all. Default 40. */
  readonly maxHistoryMessages?: number | undefined;
  /** Maximum characters of a tool's result that the model receives. Default 4000. */
  readonly maxToolResultChars?: number | undefined;
  /** A model whose server reports a smaller context, in tokens, causes a warning. Default 32768. */
  readonly minContextSize?: number | undefined;
  readonly timeouts?:
    | {
        /** Time limit for connecting. Default 30 000 ms. */
        readonly connectMs?: number | undefined;
        /** Longest silence of the model. Default 120 000 ms; 600 000 ms for the first reply of a local server, which may be loading it. */
        readonly responseMs?: number | undefined;
        /** Time limit for tools without their own. Default 180 000 ms. */
        readonly toolMs?: number | undefined;
        /** Time after which a pending approval counts as denied, in milliseconds. Default: never. */
        readonly approvalMs?: number | undefined;
        /** Time limit for the whole run, in milliseconds. Default: none. */
        readonly totalMs?: number | undefined;
      }
    | undefined;
  /** Attempts per model turn (default 2), the wait between them, and which errors are retried; undefined leaves it to their codes. */
  readonly retry?:
    | {
        readonly maxAttempts?: number | undefined;
        readonly backoff?: Backoff | undefined;
        readonly retryable?: ((error: unknown) => boolean | undefined) | undefined;
      }
    | undefined;
  /** `auto` (default): native tool calls if the server supports them, the JSON envelope otherwise. */
  readonly toolCalling?: 'auto' | ToolCalling | undefined;
  /**
   * Which text of a reply may become a call: none (`never`), a whole reply (`whole-reply`), one call with sentences
   * around it (`narrated`), or any (`lenient`). Default: by `toolCalling`; `never` for `native` and for a model that has
   * called natively before, else `whole-reply` for `auto` and `narrated` for `json`.
   */
  readonly textCalls?: TextCalls | undefined;
  /** Default true: the model may plan several calls ahead. False: planning is not offered, and its plans are not run. */
  readonly plans?: boolean | undefined;
  /** Default true: calls of one turn run in parallel. */
  readonly parallelToolCalls?: boolean | undefined;
  /** Default false: replies arrive whole. True emits `model.token` events. */
  readonly streaming?: boolean | undefined;
  /** Sampling temperature, 0 to 2. Default: the server's. */
  readonly temperature?: number | undefined;
  /** The longest reply in tokens. Default: the server's. */
  readonly maxTokens?: number | undefined;
  /** The policy of tools without their own. Default `allow`. */
  readonly defaultPolicy?: Policy | undefined;
  /**
   * Called before a tool whose policy is `confirm`. `'wait'`: the call waits for `run.approve` or `run.reject`. Default:
   * a prompt in a terminal, else such calls are denied.
   */
  readonly confirm?: Confirm<TContext> | 'wait' | undefined;
  /**
   * Answers what an MCP server asks a person in the middle of a call (elicitation). Default: a form in a terminal, else
   * servers learn that no one can be asked.
   */
  readonly elicit?: McpElicit | undefined;
  /** Where "always allow" is stored. Default: `~/.signalbox/security/allowed-tools.json`, read only if a tool needs confirmation. */
  readonly permissions?: Permissions | undefined;
  /** What the agent is for, as described to agents above it. Default: the first line of its instructions, if they are a text. */
  readonly description?: string | undefined;
  /**
   * Agents below this one: each is a tool with the agent's name, to which the model delegates a task. A child can
   * serve several parents, and its creator closes it. At most 8 levels deep.
   */
  readonly children?: readonly ChildAgent[] | undefined;
  /** Decides escalations of this agent's tools and children; those that it does not decide go to the agent above. */
  readonly onEscalation?: OnEscalation | undefined;
  /** What to do about tool errors before they reach the model, for tools that leave a slot out. */
  readonly onError?: OnError | undefined;
  /** Makes this agent deterministic for `recover.fix(agent)`: it repairs arguments with this function and asks no model. */
  readonly implementedBy?:
    | ((task: RepairTask) => string | JsonObject | null | Promise<string | JsonObject | null>)
    | undefined;
  /** Limits of a run, beyond which it ends with the reason `budget`; those of the agents below count too. Default: none. */
  readonly budget?: { readonly maxToolCalls?: number | undefined; readonly maxTokens?: number | undefined } | undefined;
  readonly limits?: AgentLimits | undefined;
  /**
   * Texts to keep out of models, recordings, events and logs: marks replace them, and tools receive the original.
   * Keys of models and servers, and what looks like a key, are always redacted. At least 6 characters each.
   */
  readonly secrets?: readonly string[] | undefined;
  /** Where runs are recorded. Default: in memory. */
  readonly journal?: JournalStore | undefined;
  /** Where runs are shown. Default: the console in a terminal, without the answer, which `run` returns; else nothing. */
  readonly output?: OutputHandler | undefined;
  /** Without default output and without prompts in the terminal; an `output` that is given still gets everything. Default false. */
  readonly silent?: boolean | undefined;
  /** Also shows how each reply was read and repaired, and what MCP servers log. Default false. */
  readonly debug?: boolean | undefined;
  /** Prints the system prompt of each turn. */
  readonly showPrompts?: boolean | undefined;
  /** Prints tokens, tokens per second and time to first token, if the server reports them. */
  readonly showStats?: boolean | undefined;
  /** Includes the composed prompts in the trace. */
  readonly debugPrompts?: boolean | undefined;
  /** Records what the model streams, in one note a second: of a reply in which the process ends, all but the last second is kept. */
  readonly recordTokens?: boolean | undefined;
  /** Shows runs on an inspector's page: that of `createInspector`, or with `true` the process's own. Default false. */
  readonly inspect?: boolean | RunPort | Promise<RunPort> | undefined;
  /** Writes `<outputDir>/<agent>-<runId>.trace.json` after each run, or the file at a given path, which the next run overwrites. */
  readonly trace?: boolean | string | undefined;
  /** The folder for traces. Default `.`. */
  readonly outputDir?: string | undefined;
  /** Called with every event of every run. What it throws is ignored. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /** Follows each run's requests and calls while they are made: `openTelemetry()` of `signalbox/telemetry`, or your own. */
  readonly telemetry?: Telemetry | undefined;
  /** A conversation to continue, as for `setHistory`. */
  readonly history?: readonly Message[] | undefined;
  /** Fixes the jitter of backoffs. Default: random, and recorded. */
  readonly seed?: number | undefined;
}

const ms = z.number().positive();
const count = (least: number) => z.int().min(least);
const fn = z.custom<(...args: never) => unknown>((value) => typeof value === 'function', 'must be a function');
const object = (what: string, method: string) =>
  z.custom<object>(
    (value) => typeof value === 'object' && value !== null && typeof Reflect.get(value, method) === 'function',
    `must be ${what}`,
  );
const A_MODEL = 'must be a name such as "ollama:qwen2.5:7b", or an object with a method complete()';
const model = z.union([z.string().min(1), object('a model', 'complete')], A_MODEL);
const isModels = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((one) => model.safeParse(one).success);
const isAgent = (value: unknown): boolean => typeof value === 'object' && value !== null && CHILD in value;
const policy = z.enum(POLICIES);

/** A schema for each member of an option that is an object. */
type Within<Name extends keyof AgentOptions> = NamesAs<NonNullable<AgentOptions[Name]>, Shape<unknown>>;

const schema = z
  .strictObject({
    name: z.string().min(1).max(100),
    version: z.string().min(1).max(100),
    onUpgrade: z.union(
      [z.enum(['refuse', 'recorded', 'current']), fn],
      "must be 'refuse', 'recorded', 'current' or a function",
    ),
    instructions: z.union([z.string(), fn], 'must be a text or a function'),
    systemPrompt: fn,
    model: z.union([model, z.custom<object>(isModels, A_MODEL)], `${A_MODEL}, or a list of them`),
    models: z.record(model),
    tools: z.array(object('a tool made by tool()', 'execute')),
    outputSchema: z.unknown(),
    outputMode: z.enum(OUTPUT_MODES),
    checkOutput: fn,
    skills: z.array(z.custom<object>((value) => isSkill(value), 'must be a skill made by skill()')),
    mcpServers: z.record(
      z.custom<object>(
        (value) => typeof value === 'object' && value !== null,
        'must be an object: a server configuration or a connection',
      ),
    ),
    maxSteps: count(1),
    maxSteers: count(0),
    maxPlanIterations: count(0),
    maxConsecutiveRepeats: count(2),
    maxHistoryMessages: count(0),
    maxToolResultChars: count(1),
    minContextSize: count(0),
    timeouts: z
      .strictObject({
        connectMs: ms,
        responseMs: ms,
        toolMs: ms,
        approvalMs: ms,
        totalMs: ms,
      } satisfies Within<'timeouts'>)
      .partial(),
    retry: z
      .strictObject({ maxAttempts: count(1), backoff: backoffShape, retryable: fn } satisfies Within<'retry'>)
      .partial(),
    toolCalling: z.enum(['auto', 'json', 'native']),
    textCalls: z.enum(['never', 'whole-reply', 'narrated', 'lenient']),
    plans: z.boolean(),
    parallelToolCalls: z.boolean(),
    streaming: z.boolean(),
    temperature: z.number().min(0).max(2),
    maxTokens: count(1),
    defaultPolicy: policy,
    confirm: z.union([fn, z.literal('wait')], "must be a function or 'wait'"),
    elicit: fn,
    permissions: object('a permission store', 'isAlwaysAllowed'),
    onError: object('an object of slots', 'valueOf'),
    implementedBy: fn,
    description: z.string(),
    children: z.array(z.custom<ChildAgent>(isAgent, 'must be an agent made by createAgent')),
    onEscalation: fn,
    budget: z.strictObject({ maxToolCalls: count(0), maxTokens: count(1) } satisfies Within<'budget'>).partial(),
    limits: z
      .strictObject({ argumentBytes: count(1), resultBytes: count(1), mcp: mcpLimitsSchema } satisfies Within<'limits'>)
      .partial(),
    secrets: z.array(z.string().min(6)),
    journal: object('a journal such as memoryJournal() or fileJournal(dir)', 'open'),
    output: object('an object with the methods of OutputHandler that you need', 'valueOf'),
    silent: z.boolean(),
    debug: z.boolean(),
    showPrompts: z.boolean(),
    showStats: z.boolean(),
    debugPrompts: z.boolean(),
    recordTokens: z.boolean(),
    inspect: z.union([z.boolean(), object('', 'attach'), object('', 'then')], 'must be true, false or an inspector'),
    trace: z.union([z.boolean(), z.string().min(1)], 'must be true, false or the path of a file'),
    outputDir: z.string().min(1),
    onEvent: fn,
    telemetry: object('what openTelemetry() returns, or an object with a method follow()', 'follow'),
    history: z.array(
      z.looseObject({
        role: z.enum(['user', 'assistant', 'tool', 'system']),
        content: z.union([z.string(), z.array(z.unknown())]),
      }),
    ),
    seed: z.number(),
  } satisfies NamesAs<AgentOptions, Shape<unknown>>)
  .partial();

/**
 * Rejects wrong options with an `OptionError` that names each and what it must be. Returns those that were given: an
 * option that is `undefined` was not given.
 */
export function checkOptions(options: AgentOptions, what = 'createAgent'): AgentOptions {
  const given: AgentOptions = withoutUndefined(options);
  const checked = schema.safeParse(given);
  if (!checked.success) throw optionError(what, schema, checked.error, given);
  checkOnError(what, checked.data.onError);
  return given;
}
