import type { PromptState } from '../../actors/compose-prompt.ts';
import type { McpLimits } from '../../mcp/config/server-limits.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import type { ToolChange } from '../../tools/spec.ts';

/** The input of a function that makes instructions. */
export interface InstructionsInput<TContext = unknown> {
  readonly input: string;
  /** The value given to `run(input, { context })`. */
  readonly context: TContext;
  /** The state of the run. */
  readonly state: PromptState;
}

/**
 * A store of decisions to always allow a tool. Results may be promises. `tool` is the name of a tool of the program; for
 * a tool of an MCP server it is a text that identifies the server, the tool and its description, all of which `of` holds.
 */
export interface Permissions {
  isAlwaysAllowed(tool: string, of?: ServerTool): boolean | Promise<boolean>;
  add(tool: string, of?: ServerTool): void | Promise<void>;
  /** What has changed in a tool that was always allowed; null if nothing has. Optional. */
  changesOf?(of: ServerTool): readonly ToolChange[] | null | Promise<readonly ToolChange[] | null>;
  /** The same store limited to one agent's decisions; a store without this method is used as it is. */
  forAgent?(agent: string): Permissions;
}

/** What is different about the agent's own code since a run of it was begun. */
export interface UpgradeDifference {
  readonly runId: string;
  /** The option `version`, when the run began and now. */
  readonly version: { readonly recorded: string | null; readonly current: string | null };
  /** Each as a sentence without its full stop. */
  readonly differences: readonly string[];
  /** False if the tool of an open call is gone, or no longer accepts the recorded arguments. */
  readonly fits: boolean;
}

/** How a run continues under changed code: not at all, as it was recorded, or with the current code. */
export type UpgradeChoice = 'refuse' | 'recorded' | 'current';

/** Decides this, once for all runs or for each run. */
export type OnUpgrade = UpgradeChoice | ((difference: UpgradeDifference) => UpgradeChoice | Promise<UpgradeChoice>);

/** Size limits for data from outside, in bytes unless stated otherwise. */
export interface AgentLimits {
  /** Larger arguments of a call are refused. Default 1 000 000. */
  readonly argumentBytes?: number | undefined;
  /** A larger result of a call is an error. Default 10 000 000. */
  readonly resultBytes?: number | undefined;
  /** How much each MCP server may make the agent keep and the model read. */
  readonly mcp?: Partial<McpLimits> | undefined;
}

/** The key under which an agent can work below another. */
export const CHILD: unique symbol = Symbol.for('signalbox.child');

/** An agent that can work below another. */
export interface ChildAgent {
  readonly name: string;
  readonly [CHILD]: object;
}
