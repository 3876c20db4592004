import { POLICIES, type Effects, type Policy } from './spec.ts';
import type { Issue } from '../json/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../json/json.ts';
import { named, optionsOf, wrongOption } from '../json/known-options.ts';
import { describeThrown } from '../json/to-json.ts';
import { checkOnError } from '../recovery/plan-data.ts';
import type { OnError } from '../recovery/steps.ts';
import { readToolSchema, standardIssues } from './schema.ts';
import type { ArgsOf, InputOf, InputSchema, StandardCheck } from './schema.ts';

/** What `execute` gets besides the arguments. */
export interface ExecuteContext<TContext = unknown> {
  /** Aborts at the tool's timeout and when the run is cancelled. Pass it to what you call. */
  readonly signal: AbortSignal;
  /** The same for every repetition of this call, also after a crash: pass it to services that accept idempotency keys. */
  readonly idempotencyKey: string;
  /** The call's id, unique in the run. */
  readonly callId: string;
  /** The value given to `run(input, { context })`; undefined without one. */
  readonly context: TContext;
  /** What the person who approved the call said: `approve(callId, { reason })`. Absent if nothing was said. */
  readonly approvalReason?: string;
  /**
   * Tells whoever follows the run how far the call is: event `tool.progress`, at most ten times a second. It does not extend
   * the tool's time, the model does not see it, and it is not recorded. A report without a number is left out.
   *
   * @example reportProgress({ progress: 3, total: 10, message: 'page 3' })
   */
  readonly reportProgress: (report: ProgressReport) => void;
}

/** How far a call is. */
export interface ProgressReport {
  /** What is done so far, in any unit. */
  readonly progress: number;
  /** What there is to do, in the same unit. Default: not known. */
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** What `validateArgs` gets besides the arguments. */
export interface ValidateContext<TContext = unknown> {
  readonly tool: string;
  readonly callId: string;
  readonly context: TContext;
  readonly signal: AbortSignal;
}

/** What a tool is made of. */
export interface ToolDefinition<
  TSchema extends InputSchema,
  TName extends string = string,
  TContext = unknown,
  TOutput = unknown,
> {
  /** The name that the model calls: at most 64 letters, digits, `_`, `-` and `.`, the first neither `-` nor `.`. */
  readonly name: TName;
  /** What it does and when to use it, for the model. */
  readonly description: string;
  /** zod, another Standard Schema, or a plain JSON Schema of an object. Default: no arguments. */
  readonly inputSchema?: TSchema | undefined;
  /** Required with a Standard Schema that cannot export JSON Schema. */
  readonly jsonSchema?: JsonObject | undefined;
  /** Default: `confirm` with `needsApproval`, else the agent's `defaultPolicy`, which is `allow` unless given. */
  readonly policy?: Policy | undefined;
  /**
   * Which calls of a tool with the policy `confirm` a person must approve: those for which it returns true. Runs after
   * `validateArgs`, in the same time. If it throws, or returns neither true nor false, the call fails.
   *
   * @example needsApproval: ({ euros }) => euros > 100
   */
  readonly needsApproval?:
    | ((args: InputOf<TSchema>, context: ValidateContext<TContext>) => boolean | Promise<boolean>)
    | undefined;
  /** Whether a call may be repeated if its outcome is unknown. Default `once`: it may not. */
  readonly effects?: Effects | undefined;
  /** Complete in itself: the planner is told not to split it. Default false. */
  readonly atomic?: boolean | undefined;
  /** Meant to be called repeatedly: the loop guard ignores it. Default false. */
  readonly polling?: boolean | undefined;
  /** Default true. A tool that is switched off is not shown to the model. */
  readonly enabled?: boolean | undefined;
  /** Milliseconds after which `signal` aborts and the call counts as timed out. Default: the agent's `timeouts.toolMs`. */
  readonly timeoutMs?: number | undefined;
  /** Runs after the schema check and before anyone is asked. Return the arguments to use (default: unchanged), or throw. */
  readonly validateArgs?: ((args: InputOf<TSchema>, context: ValidateContext<TContext>) => unknown) | undefined;
  /** What to do about each kind of error before it reaches the model. Slots that are left out are the agent's. */
  readonly onError?: OnError | undefined;
  /** Does the work. What it returns becomes the result (a bare value its `data`); what it throws an error. */
  readonly execute: (args: ArgsOf<TSchema>, context: ExecuteContext<TContext>) => TOutput;
}

/** The result of a tool's own check of arguments that fit the JSON Schema. */
type ToolCheck =
  | { readonly ok: true; readonly args: Json; readonly approved?: true }
  | { readonly ok: false; readonly issues: readonly Issue[]; readonly own: boolean };

/** A tool, ready to be registered. Made by {@link tool}. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly policy: Policy | undefined;
  readonly effects: Effects;
  readonly atomic: boolean;
  readonly polling: boolean;
  readonly enabled: boolean;
  readonly timeoutMs: number | undefined;
  /** Its check says which calls a person must approve. */
  readonly needsApproval: boolean;
  /** The check by code (the Standard Schema's own, `validateArgs`, `needsApproval`); undefined where there is none. */
  readonly check: ((args: JsonObject, context: ValidateContext) => Promise<ToolCheck>) | undefined;
  readonly onError: OnError | undefined;
  readonly execute: (args: JsonObject, context: ExecuteContext) => unknown;
}

/** A tool whose name, arguments, output and context are statically typed. */
export interface TypedTool<
  TName extends string = string,
  TArgs = unknown,
  TOutput = unknown,
  TContext = unknown,
> extends Tool {
  readonly name: TName;
  /** What a definition tells the types: `tool()` leaves it out. */
  readonly '~types'?: { readonly args: TArgs; readonly output: TOutput; readonly context: (context: TContext) => void };
}

/** A tool for agents whose runs get this context. */
export type ToolFor<TContext> = unknown extends TContext
  ? Tool
  : Tool & { readonly '~types'?: { readonly context: (context: TContext) => void } };

const checkMembers = optionsOf<ToolDefinition<InputSchema>>('tool()', 'docs/tools.md', {
  name: true,
  description: true,
  inputSchema: true,
  jsonSchema: true,
  policy: true,
  needsApproval: true,
  effects: true,
  atomic: true,
  polling: true,
  enabled: true,
  timeoutMs: true,
  validateArgs: true,
  onError: true,
  execute: true,
});

const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,63}$/u;
const KNOWN_POLICIES: readonly unknown[] = [...POLICIES, undefined];
const EFFECTS: readonly unknown[] = ['none', 'idempotent', 'once', undefined];

/**
 * Makes a tool. The types of `execute`'s arguments follow from the schema. Throws a `TypeError` that names the tool and
 * the member if the definition is invalid.
 *
 * @example
 * const add = tool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   inputSchema: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => a + b,
 * });
 */
export function tool<
  const TSchema extends InputSchema = JsonObject,
  const TName extends string = string,
  TContext = unknown,
  TOutput = unknown,
>(definition: ToolDefinition<TSchema, TName, TContext, TOutput>): TypedTool<TName, ArgsOf<TSchema>, TOutput, TContext> {
  checkDefinition(definition);
  const { name, execute } = definition;
  const schema = readToolSchema(name, definition.inputSchema, definition.jsonSchema);
  return Object.freeze({
    name,
    description: definition.description,
    inputSchema: schema.json,
    policy: definition.policy ?? (definition.needsApproval === undefined ? undefined : 'confirm'),
    effects: definition.effects ?? 'once',
    atomic: definition.atomic ?? false,
    polling: definition.polling ?? false,
    enabled: definition.enabled ?? true,
    timeoutMs: definition.timeoutMs,
    ...checkedBy(definition as OwnParts, schema.check),
    onError: definition.onError,
    execute: execute as Tool['execute'],
  });
}

function checkDefinition(definition: unknown): void {
  if (typeof definition !== 'object' || definition === null)
    throw wrongOption('tool() takes an object with name, description and execute.');
  checkMembers(definition, named('Tool', definition));
  const get = (key: string): unknown => Reflect.get(definition, key);
  const name = get('name');
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw wrongOption(
      `A tool's name must be 1 to 64 letters, digits, "_", "-" or ".", must not begin with "-" or ".", and is ${JSON.stringify(name) ?? 'missing'}.`,
    );
  }
  if (name === 'make_plan')
    throw wrongOption(`The tool name 'make_plan' is reserved: it is how models plan. Choose another.`);
  const wrong = (member: string, must: string): never => {
    throw wrongOption(`Tool '${name}': ${member} must be ${must}.`);
  };
  if (typeof get('description') !== 'string') wrong('description', 'a text that tells the model what the tool does');
  if (typeof get('execute') !== 'function') wrong('execute', 'a function');
  const isFunction = (member: string): boolean => ['undefined', 'function'].includes(typeof get(member));
  if (!isFunction('validateArgs')) wrong('validateArgs', 'a function');
  if (!isFunction('needsApproval')) wrong('needsApproval', "a function; for all calls, the policy is 'confirm'");
  if (!KNOWN_POLICIES.includes(get('policy'))) wrong('policy', "'allow', 'confirm' or 'deny'");
  if (get('needsApproval') !== undefined && ['allow', 'deny'].includes(String(get('policy'))))
    wrong('policy', "'confirm' where needsApproval says which calls a person must approve");
  if (!EFFECTS.includes(get('effects'))) wrong('effects', "'none', 'idempotent' or 'once'");
  checkOnError(`Tool '${name}'`, get('onError'));
  for (const member of ['atomic', 'polling', 'enabled'])
    if (get(member) !== undefined && typeof get(member) !== 'boolean') wrong(member, 'true or false');
  const timeoutMs = get('timeoutMs');
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs > 0))
    wrong('timeoutMs', 'a number of milliseconds above 0');
}

/** The parts of a definition that get arguments which fit the schema. */
interface OwnParts {
  readonly validateArgs?: ((args: never, context: ValidateContext) => unknown) | undefined;
  readonly needsApproval?: ((args: never, context: ValidateContext) => unknown) | undefined;
}

/** How a tool checks arguments by code, and whether that says which calls a person must approve. */
export function checkedBy(parts: OwnParts, check: StandardCheck | null = null): Pick<Tool, 'needsApproval' | 'check'> {
  const { validateArgs, needsApproval } = parts;
  if (check === null && validateArgs === undefined && needsApproval === undefined)
    return { needsApproval: false, check: undefined };
  return {
    needsApproval: needsApproval !== undefined,
    check: async (args, context) => {
      const checked = check === null ? { ok: true as const, args: args as unknown } : await validated(check, args);
      if (!checked.ok) return checked;
      let used = checked.args as Json;
      try {
        const made = validateArgs === undefined ? undefined : await validateArgs(used as never, context);
        if (made !== undefined) used = made as Json;
      } catch (thrown) {
        return { ok: false, issues: [{ path: '', message: describeThrown(thrown).message }], own: true };
      }
      if (needsApproval === undefined) return { ok: true, args: used };
      const needs = await needsApproval(used as never, context);
      if (typeof needs !== 'boolean') throw wrongOption(`needsApproval returned ${String(needs)}, not true or false`);
      return needs ? { ok: true, args: used } : { ok: true, args: used, approved: true };
    },
  };
}

async function validated(check: StandardCheck, args: JsonObject) {
  const result = await check(args);
  if (result.issues === undefined) return { ok: true as const, args: result.value };
  return { ok: false as const, issues: standardIssues(result.issues), own: false };
}
