import type { ToolResult } from '../tools/result.ts';
import { withinLimit } from './deadline.ts';
import { leaf } from './leaf.ts';
import type { ToolCalling } from './model.ts';

/** Where a run is when its prompt is made. */
export interface PromptState {
  /** The step that the prompt is for, from 1. */
  readonly step: number;
  readonly stepsTaken: number;
  readonly planIterations: number;
  /** The result of the latest tool call; null before the first. */
  readonly lastResult: ToolResult | null;
  readonly errorHistory: readonly {
    readonly code: string;
    readonly message: string;
    readonly step: number;
    readonly tool?: string;
  }[];
}

/** What a function that makes instructions or a whole prompt receives. */
export interface ComposePromptInput {
  readonly task: string;
  readonly state: PromptState;
  /** The agent that asks, by its path in the tree; empty for the root. */
  readonly agent: string;
}

/** The system prompt for each way of calling tools. */
export type PromptTexts = { readonly [mode in ToolCalling]: string };

/** What the prompt is composed of besides the author's own text: tools, and what the answer must be (null: text). */
export interface PromptContents<TToolset, TOutput> {
  readonly toolset: TToolset;
  readonly output: TOutput | null;
}

/** Makes the system prompt of the next turn, for agents whose instructions or prompt are functions. */
export const composePrompt = <TToolset, TOutput>(ports: {
  readonly compose: (
    input: ComposePromptInput & PromptContents<TToolset, TOutput> & { readonly context: unknown },
  ) => PromptTexts | Promise<PromptTexts>;
  /** How long that may take. */
  readonly timeoutMs: (agent: string) => number;
}) =>
  leaf<ComposePromptInput & PromptContents<TToolset, TOutput>, PromptTexts>(
    'composePrompt',
    { effects: 'none', request: ({ task, state }) => ({ task, step: state.step }) },
    (input, { context, signal }) => {
      const ms = ports.timeoutMs(input.agent);
      const text = `The functions that make the prompt (instructions, systemPrompt) took longer than ${ms} ms.`;
      const late = () => Object.assign(new Error(text), { code: 'timeout' });
      return withinLimit(ms, signal, late, () => ports.compose({ ...input, context }));
    },
  );

/**
 * Gives a machine that was started without a setup its agent: tools, instructions, settings. Only a bare machine
 * in a caller's own actor system asks; a run reads it from the first line of its recording.
 */
export const describeAgent = <TSetup>(ports: { readonly setup: (signal: AbortSignal) => Promise<TSetup> }) =>
  leaf<null, TSetup>('describeAgent', 'none', (_input, { signal }) => ports.setup(signal));
