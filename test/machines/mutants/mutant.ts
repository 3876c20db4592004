import { createAgent } from '../../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../../src/agent/options.ts';
import type { agentMachine } from '../../../src/machines/agent.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';

/** A machine of ours with one thing wrong, the agent that shows it, and the law that must catch it. */
export interface Mutant {
  readonly wrong: string;
  readonly machine: typeof agentMachine;
  readonly agent: AgentOptions;
  readonly law: string;
}

/** The agent that shows a mutant: quick to explore, with no model and no output. */
export function mutantAgent(options: AgentOptions) {
  return createAgent({ model: scriptedModel([]), silent: true, maxSteps: 2, ...options });
}

/** Guards that are always or never true, and an action that does nothing. */
export const yes = (): boolean => true;
export const no = (): boolean => false;
export const nothing = (): void => undefined;
