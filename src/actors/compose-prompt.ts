import { leaf } from './leaf.ts';
import type { ToolCalling } from './model.ts';

/** What a function that makes instructions or a whole prompt is told. */
export interface ComposePromptInput {
  readonly task: string;
  readonly step: number;
}

/** The system prompt for each way of calling tools. */
export type PromptTexts = { readonly [mode in ToolCalling]: string };

/** Makes the system prompt of the next turn, for agents whose instructions or prompt are functions. */
export const composePrompt = <TToolset>(ports: {
  readonly compose: (
    input: ComposePromptInput & { readonly toolset: TToolset; readonly context: unknown },
  ) => PromptTexts | Promise<PromptTexts>;
}) =>
  leaf<ComposePromptInput & { readonly toolset: TToolset }, PromptTexts>(
    'composePrompt',
    { effects: 'none', request: ({ task, step }) => ({ task, step }) },
    (input, { context }) => ports.compose({ ...input, context }),
  );
