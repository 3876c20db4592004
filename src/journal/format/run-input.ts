import { digest } from '../../json/digest.ts';
import type { AgentInput } from '../../machines/contract/agent-setup.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { llmCallMachine } from '../../machines/llm-call/llm-call.ts';
import { loopDetectionMachine } from '../../machines/tool-call/loop-detection.ts';
import { toolCallMachine } from '../../machines/tool-call/tool-call.ts';
import { type Json, type JsonObject, defined } from '../../json/json.ts';
import { FORMAT, type RunRecord } from './record.ts';

/** The id that a run's root actor has, and with it every path of a recording. */
export const ROOT_ID = 'agent';

/** An input in which everything is resolved. */
export type WholeInput = AgentInput & Required<Pick<AgentInput, 'setup' | 'history'>>;

/** The first line of a recording, made from a run's input. */
export function runRecord(
  input: WholeInput,
  run: { readonly runId: string; readonly at: string; readonly metadata: JsonObject },
): RunRecord {
  const { setup, cancelled, refused, queued = [] } = input;
  return {
    t: 'run',
    format: FORMAT,
    runId: run.runId,
    at: run.at,
    machine: { id: agentMachine.id, version: agentMachine.version ?? '', hash: definitionHash() },
    agent: setup.agent,
    ...(setup.version === undefined ? {} : { version: setup.version }),
    input: input.task,
    ...(input.content === undefined ? {} : { content: input.content }),
    ...(cancelled === undefined ? {} : { cancelled }),
    ...(refused === undefined ? {} : { refused }),
    ...(queued.length === 0 ? {} : { queued }),
    instructions: setup.instructions,
    promptByCode: setup.promptByCode,
    toolCalling: setup.toolCalling,
    ...(setup.callsNatively ? { callsNatively: true } : {}),
    toolset: setup.toolset,
    history: input.history,
    options: setup.settings,
    seed: setup.seed,
    warnings: setup.warnings,
    ...(setup.children.length === 0 ? {} : { children: setup.children }),
    ...(setup.escalates ? { escalates: true } : {}),
    ...(setup.output === undefined ? {} : { output: setup.output }),
    ...(setup.models === undefined ? {} : { models: setup.models }),
    metadata: run.metadata,
  };
}

/** What a run was given, of the first line of its recording. */
export function inputOf(head: RunRecord): WholeInput {
  return {
    task: head.input,
    history: head.history,
    ...defined({ content: head.content, cancelled: head.cancelled, refused: head.refused, queued: head.queued }),
    setup: {
      agent: head.agent,
      ...defined({ version: head.version, output: head.output, models: head.models }),
      instructions: head.instructions,
      promptByCode: head.promptByCode,
      toolset: head.toolset,
      toolCalling: head.toolCalling,
      callsNatively: head.callsNatively ?? false,
      settings: head.options,
      seed: head.seed,
      warnings: head.warnings,
      children: head.children ?? [],
      escalates: head.escalates ?? false,
    },
  };
}

let hash: string | undefined;

/** Distinguishes versions of the machines: a digest of their definitions, functions left out. */
export function definitionHash(): string {
  hash ??= digest(
    [agentMachine, llmCallMachine, toolCallMachine, loopDetectionMachine].map((machine) => plain(machine.config)),
  );
  return hash;
}

function plain(definition: unknown): Json {
  const text = JSON.stringify(definition, (_key, value: unknown) => (typeof value === 'function' ? 'function' : value));
  const parsed: Json = JSON.parse(text);
  return parsed;
}
