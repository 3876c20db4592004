/**
 * Owns: which names of options an agent's methods take, and what is said of wrong ones. Does not own: the values of the
 * agent's own options (`options.ts`).
 */
import { optionsOf } from '../../json/known-options.ts';
import type {
  AgentLogicInput,
  CloseOptions,
  ConfigurableOptions,
  ListToolsOptions,
  ResumeOptions,
  RunOptions,
  ApprovalOptions,
} from './run-options.ts';

const DOCS = 'docs/agents.md';

/** Refuses options of a run that are not known. */
export const checkRunOptions = optionsOf<RunOptions>('agent.run', DOCS, {
  signal: true,
  maxSteps: true,
  outputSchema: true,
  context: true,
  metadata: true,
  runId: true,
  inspect: true,
  journal: true,
  trace: true,
  traceparent: true,
});

/** Refuses options of `agent.resume` that are not known. */
export const checkResume = optionsOf<ResumeOptions>('agent.resume', DOCS, {
  context: true,
  signal: true,
  trace: true,
  inspect: true,
  migrate: true,
  traceparent: true,
});

/** Refuses options of an approval that are not known. */
export const checkApproval = optionsOf<ApprovalOptions>('approve', DOCS, { always: true, args: true });

/** Refuses options of `agent.close` that are not known. */
export const checkClose = optionsOf<CloseOptions>('agent.close', DOCS, { graceMs: true, runs: true });

/** Refuses options of `agent.listTools` that are not known. */
export const checkListTools = optionsOf<ListToolsOptions>('agent.listTools', DOCS, { verbose: true });

/** Refuses members of the input of `agent.logic` that are not known. */
export const checkLogicInput = optionsOf<AgentLogicInput>('agent.logic: input', DOCS, {
  task: true,
  history: true,
  context: true,
  onStop: true,
});

/** Refuses options that cannot be changed between runs. */
export const checkConfigurable = optionsOf<ConfigurableOptions>(
  "agent.configure changes some options only; others are createAgent's",
  DOCS,
  { output: true, confirm: true, permissions: true, defaultPolicy: true, model: true, instructions: true },
);

/** Refuses an input and options that no run can be started with. */
export function checkRun(input: unknown, given: RunOptions): void {
  if (typeof input !== 'string' || input.trim() === '')
    throw new TypeError('agent.run: the input must be a text that is not blank.');
  checkRunOptions(given);
  const { maxSteps } = given;
  if (maxSteps !== undefined && !(Number.isInteger(maxSteps) && maxSteps >= 1))
    throw new TypeError(`agent.run: option 'maxSteps' must be a whole number from 1 on, and is ${String(maxSteps)}.`);
}
