import type { Confirm } from '../../actors/ask-approval.ts';
import type { Message, Model, ToolCalling } from '../../actors/model.ts';
import { type AgentSettings, DEFAULT_SETTINGS } from '../../machines/contract/agent-setup.ts';
import { closeOpenCalls } from '../../machines/llm-call/conversation.ts';
import { MAX_STEERS } from '../../machines/contract/mail.ts';
import type { AllGiven } from '../../json/known-options.ts';
import { mcpLimits } from '../../mcp/config/server-limits.ts';
import { BUSY_BACKOFF } from '../../recovery/backoff.ts';
import type { AgentOptions } from './agent-options.ts';
import { withoutUndefined } from './option-error.ts';

/** The defaults of options that the machines do not have. Those of the machines are in `DEFAULT_SETTINGS`. */
export const DEFAULTS = {
  toolMs: 180_000,
  responseMs: 120_000,
  maxHistoryMessages: 40,
  minContextSize: 32_768,
} as const;
const OFF = {
  debug: false,
  inspect: false,
  trace: false,
  showPrompts: false,
  showStats: false,
  debugPrompts: false,
  recordTokens: false,
};

/** The limits and switches of an agent, of its options. */
export function settingsOf(options: AgentOptions): AgentSettings & { readonly toolMs: number } {
  const { timeouts = {}, retry = {}, limits = {}, budget = {} } = options;
  return {
    maxSteps: options.maxSteps ?? DEFAULT_SETTINGS.maxSteps,
    maxPlanIterations: options.maxPlanIterations ?? DEFAULT_SETTINGS.maxPlanIterations,
    maxConsecutiveRepeats: options.maxConsecutiveRepeats ?? DEFAULT_SETTINGS.maxConsecutiveRepeats,
    maxToolResultChars: options.maxToolResultChars ?? DEFAULT_SETTINGS.maxToolResultChars,
    connectMs: timeouts.connectMs ?? DEFAULT_SETTINGS.connectMs,
    responseMs: timeouts.responseMs ?? null,
    toolMs: timeouts.toolMs ?? DEFAULTS.toolMs,
    approvalMs: timeouts.approvalMs ?? null,
    totalMs: timeouts.totalMs ?? null,
    maxAttempts: retry.maxAttempts ?? DEFAULT_SETTINGS.maxAttempts,
    backoff: retry.backoff ?? DEFAULT_SETTINGS.backoff,
    ...(retry.backoff === undefined ? { busyBackoff: BUSY_BACKOFF } : {}),
    parallelToolCalls: options.parallelToolCalls ?? true,
    streaming: options.streaming ?? false,
    temperature: options.temperature ?? null,
    maxTokens: options.maxTokens ?? null,
    maxArgumentBytes: limits.argumentBytes ?? DEFAULT_SETTINGS.maxArgumentBytes,
    maxResultBytes: limits.resultBytes ?? DEFAULT_SETTINGS.maxResultBytes,
    budget: { maxToolCalls: budget.maxToolCalls ?? null, maxTokens: budget.maxTokens ?? null },
    fixMs: DEFAULT_SETTINGS.fixMs,
    jitterSeed: 0,
    texts: 3,
    images: 'named',
    longHistory: 'left-out',
    toolCalling: options.toolCalling ?? 'auto',
    ...(options.maxSteers === undefined ? {} : { maxSteers: options.maxSteers }),
    ...(options.plans === false ? { plans: false } : {}),
    ...(options.textCalls === undefined ? {} : { textCalls: options.textCalls }),
  };
}

/** How a run's calls are sent: as the option says, else as the model declares. */
export function toolCallingOf(options: AgentOptions, model: Model): ToolCalling {
  const asked = options.toolCalling ?? 'auto';
  return asked === 'auto' ? (model.toolCalling ?? 'native') : asked;
}

/** A history that a model can be given: no system prompts, no call without a result. */
export function repairedHistory(messages: readonly Message[]): readonly Message[] {
  const kept = messages.filter(({ role }) => role !== 'system');
  return closeOpenCalls(kept, 'cancelled: this call has no result').map((message) => Object.freeze({ ...message }));
}

/** The members of an option that is a group. */
type Group<Name extends 'timeouts' | 'retry' | 'limits'> = NonNullable<AgentOptions[Name]>;

/** The names of options that have a default. */
type Defaulted =
  | keyof typeof OFF
  | 'name'
  | 'instructions'
  | 'maxHistoryMessages'
  | 'minContextSize'
  | 'toolCalling'
  | 'defaultPolicy'
  | 'silent'
  | 'outputDir'
  | 'maxSteps'
  | 'maxPlanIterations'
  | 'maxConsecutiveRepeats'
  | 'maxToolResultChars'
  | 'plans'
  | 'maxSteers'
  | 'parallelToolCalls'
  | 'streaming'
  | 'budget';

/** Options with their defaults. */
export type ResolvedOptions = AgentOptions &
  AllGiven<Pick<AgentOptions, Defaulted>> & {
    readonly timeouts: AllGiven<Pick<Group<'timeouts'>, 'connectMs' | 'responseMs' | 'toolMs'>>;
    readonly retry: AllGiven<Pick<Group<'retry'>, 'maxAttempts' | 'backoff'>>;
    readonly limits: AllGiven<Group<'limits'>>;
  };

/** All options with their defaults, frozen. Times that have no limit, and what has no default, are left out. */
export function resolvedOptions(options: AgentOptions): ResolvedOptions {
  const settings = settingsOf(options);
  const { connectMs, responseMs, toolMs, maxAttempts, backoff, maxArgumentBytes, maxResultBytes } = settings;
  return frozen({
    name: 'agent',
    instructions: '',
    maxHistoryMessages: DEFAULTS.maxHistoryMessages,
    minContextSize: DEFAULTS.minContextSize,
    toolCalling: 'auto',
    defaultPolicy: 'allow',
    silent: false,
    ...OFF,
    outputDir: '.',
    ...withoutUndefined(options),
    maxSteps: settings.maxSteps,
    maxPlanIterations: settings.maxPlanIterations,
    maxConsecutiveRepeats: settings.maxConsecutiveRepeats,
    maxToolResultChars: settings.maxToolResultChars,
    plans: settings.plans ?? true,
    maxSteers: settings.maxSteers ?? MAX_STEERS,
    parallelToolCalls: settings.parallelToolCalls,
    streaming: settings.streaming,
    timeouts: { ...options.timeouts, connectMs, responseMs: responseMs ?? DEFAULTS.responseMs, toolMs },
    retry: { ...options.retry, maxAttempts, backoff },
    limits: {
      argumentBytes: maxArgumentBytes,
      resultBytes: maxResultBytes,
      mcp: Object.freeze(mcpLimits(options.limits?.mcp)),
    },
    budget: { ...options.budget },
  });
}

/** Freezes the options and their own small groups; objects that the user made (tools, models, outputs) are left alone. */
function frozen(options: ResolvedOptions): ResolvedOptions {
  for (const group of [options.timeouts, options.retry, options.limits, options.budget]) Object.freeze(group);
  return Object.freeze(options);
}

/** How a person is asked: by the user's own function, else by a prompt in a terminal, else not at all. */
export async function confirmOf(options: AgentOptions): Promise<Confirm | 'wait' | undefined> {
  if (options.confirm !== undefined || options.silent === true || !isTerminal()) return options.confirm;
  const { terminalConfirm } = await import('../../terminal/terminal-confirm.ts');
  return terminalConfirm();
}

/** Whether there is a person at a terminal. */
export function isTerminal(): boolean {
  return typeof process !== 'undefined' && process.stdin?.isTTY === true && process.stderr?.isTTY === true;
}
