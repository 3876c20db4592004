import type { Message, ModelTool, ToolCalling } from '../../actors/model.ts';
import type { AgentSettings } from '../agent/agent-setup.ts';

/** What one model turn is asked. */
export interface LlmCallInput {
  readonly system: { readonly [mode in ToolCalling]: Message };
  readonly messages: readonly Message[];
  readonly tools: readonly ModelTool[];
  readonly toolCalling: ToolCalling;
  readonly settings: AgentSettings;
  readonly seed: number;
  /** The model that is asked; empty: the agent's own. */
  readonly model: string;
  /** The agent that asks, by its place in the tree; empty for the root. */
  readonly agent: string;
}
