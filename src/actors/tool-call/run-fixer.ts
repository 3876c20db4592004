import type { ToolError } from '../../json/errors.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';
import { type ResolvedSlot, type StepData, stepData, stepsOf } from '../../recovery/plan-data.ts';
import type { RecoveryStep, Repaired, Repairer, RepairTask, SlotName } from '../../recovery/steps.ts';
import { type ToolResult, toToolResult } from '../../tools/result.ts';
import { withinLimit } from '../deadline.ts';
import { leaf } from '../leaf.ts';

/** One question to the code behind an `onError` slot. */
export interface RunFixerInput {
  readonly ask: 'steps' | 'fix' | 'sanitize' | 'substitute' | 'fix-agent';
  readonly tool: string;
  readonly slot: SlotName;
  readonly index: number;
  readonly error: ToolError;
  readonly text: string;
  readonly value: Json;
  readonly task: RepairTask;
  readonly timeoutMs: number;
  /** The agent that asks, by its path in the tree; empty for the root. */
  readonly agent: string;
}

/**
 * The fixer's outcome; `by` is the name of a repair agent that escalates the error. `arguments` null: it cannot repair
 * them. `steps` null: the slot's function does not handle this error. `agent`: a model-driven repair agent, which the
 * machine runs itself, from the setup that it has now.
 */
export type RunFixerOutput<TSetup = unknown> =
  | (Repaired & { readonly by?: string })
  | { readonly kind: 'steps'; readonly steps: readonly StepData[] | null }
  | { readonly kind: 'result'; readonly result: ToolResult | null }
  | { readonly kind: 'agent'; readonly agent: RepairAgentSetup<TSetup> };

/** A repair agent that is ready to run below a call. `tool` is its name in paths, like a child agent's tool. */
export interface RepairAgentSetup<TSetup> {
  readonly tool: string;
  readonly setup: TSetup;
}

/** Where the functions of `onError` are found, and the agents that can run below a call. */
export interface RunFixerPorts<TSetup = unknown> {
  readonly slot: (tool: string, slot: SlotName, agent: string) => ResolvedSlot | undefined;
  /** Prepares a repair agent of the agent at this path; null for one that has no model. */
  readonly prepared?: (fixer: Repairer, agent: string, signal: AbortSignal) => Promise<RepairAgentSetup<TSetup> | null>;
}

/** Runs one function of `onError`, or asks a repair agent. Whatever it throws counts as "cannot". */
export const runFixer = <TSetup>(ports: RunFixerPorts<TSetup>) =>
  leaf<RunFixerInput, RunFixerOutput<TSetup>>(
    'runFixer',
    {
      effects: 'none',
      request: ({ ask, tool, slot, index, error, text }) => ({ ask, tool, slot, index, error, text }),
      // The author's own functions get secrets as tools do; an agent may hand what it receives to a model.
      keepsMarks: ({ ask }) => ask === 'fix-agent',
    },
    (input, { signal }) => {
      const late = () => new Error(`The recovery of '${input.tool}' did not finish within ${input.timeoutMs} ms`);
      return withinLimit(input.timeoutMs, signal, late, (limit) => answer(ports, input, limit.signal));
    },
  );

async function answer<TSetup>(
  ports: RunFixerPorts<TSetup>,
  input: RunFixerInput,
  signal: AbortSignal,
): Promise<RunFixerOutput<TSetup>> {
  const slot = ports.slot(input.tool, input.slot, input.agent);
  const chosen = typeof slot === 'function' ? await chosenSteps(slot, input.error) : (slot ?? null);
  if (input.ask === 'steps') return { kind: 'steps', steps: chosen === null ? null : stepData(chosen) };
  const step = chosen?.filter(({ kind }) => kind !== 'inherit')[input.index];
  if (step === undefined) return { kind: 'arguments', value: null };
  if (step.kind === 'fix-agent') {
    const agent = (await ports.prepared?.(step.agent, input.agent, signal)) ?? null;
    if (agent !== null) return { kind: 'agent', agent };
  }
  return carriedOut(step, input, signal);
}

/**
 * What was chosen for an error, which is of one call and goes to one function. A recording has no functions, so that is
 * asked again after a restart, and for an error that holds a secret, which is a new object each time.
 */
const chosenFor = new WeakMap<ToolError, readonly RecoveryStep[] | null>();

async function chosenSteps(
  choose: Extract<ResolvedSlot, (...args: never) => unknown>,
  error: ToolError,
): Promise<readonly RecoveryStep[] | null> {
  const known = chosenFor.get(error);
  if (known !== undefined) return known;
  const chosen = (await choose(error)) ?? null;
  const steps = chosen === null ? null : stepsOf(chosen);
  chosenFor.set(error, steps);
  return steps;
}

async function carriedOut(
  step: RecoveryStep,
  input: RunFixerInput,
  signal: AbortSignal,
): Promise<RunFixerOutput<never>> {
  switch (step.kind) {
    case 'fix':
      return { kind: 'arguments', value: argumentsOf(await step.fix(input.text, input.error)) };
    case 'sanitize':
      return { kind: 'arguments', value: argumentsOf(await step.sanitize(structuredClone(input.value), input.error)) };
    case 'substitute':
      return { kind: 'result', result: resultOf(await step.substitute(input.error, input.error)) };
    case 'fix-agent': {
      const repaired = await step.agent.repair(input.task, { signal });
      return repaired.kind === 'escalate' ? { ...repaired, by: step.agent.name } : repaired;
    }
    default:
      return { kind: 'arguments', value: null };
  }
}

function argumentsOf(value: unknown): string | JsonObject | null {
  if (typeof value === 'string') return value;
  const json = toJson(value);
  return json.ok && isJsonObject(json.value) ? json.value : null;
}

function resultOf(value: unknown): ToolResult | null {
  if (value === null || value === undefined) return null;
  const json = toJson(value);
  return json.ok ? toToolResult(json.value) : null;
}
