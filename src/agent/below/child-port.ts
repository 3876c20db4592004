import { wrongOption } from '../../json/known-options.ts';
import type { OwnRegistry } from '../tools/registry.ts';
import type { ToolSpec } from '../../tools/spec.ts';
import type { Repairer } from '../../recovery/steps.ts';
import type { Verdict } from '../../recovery/verdicts.ts';
import type { Model } from '../../actors/model.ts';
import type { EscalationError } from '../../json/errors.ts';
import type { Confirm } from '../../actors/ask-approval.ts';
import type { McpCalls } from '../../actors/mcp/mcp-calls.ts';
import type { AgentOptions } from '../options/agent-options.ts';
import type { TypedOutput } from '../options/output-options.ts';
import type { ModelFacts } from '../../actors/call-llm.ts';
import type { OwnRedactor } from '../../actors/redactor.ts';
import { CHILD, type ChildAgent } from '../options/option-types.ts';
import { type OwnedOnError, fixersOf } from '../tools/repair-circle.ts';
import type { ChildSetup, AgentSetup } from '../../machines/contract/agent-setup.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';

/** How an agent waits for what a run needs: until `signal` aborts, for at most `mostMs` milliseconds. */
export interface Preparing {
  readonly signal: AbortSignal;
  readonly mostMs?: number;
  /** Of the conversation, whose "always allow" counts instead of the agent's. */
  readonly owner?: string | undefined;
}

/** What an agent needs of one below it. */
export interface ChildPort {
  readonly name: string;
  /** What it is for, as described to the parent's model. */
  readonly description: string;
  /** How many agents stand one below the other, itself included. */
  readonly depth: number;
  readonly ports: AgentPorts;
  /** Waits for what it needs; what it gives then takes the tools as they stand. */
  prepare(how: Preparing): Promise<() => AgentSetup>;
  /** Its current setup, without waiting. */
  setupNow(owner?: string): Promise<AgentSetup>;
  /** A recorded setup as this agent would give it now: its own instructions and local tools, all else as recorded. */
  replayed(recorded: AgentSetup, policies: Policies): AgentSetup;
  /** What models, recordings and logs must not contain. */
  secrets(): readonly string[];
  /** What people typed as secrets for its servers. */
  hidden(): readonly string[];
  /** Its name, and those of its tools, skills and servers. */
  names(): readonly string[];
  /** Calls back when its tools change; returns a function that stops it. */
  onChange(listener: () => void): () => void;
  /** The agent as it repairs arguments below a call; null for one that repairs by its own code. */
  readonly repairer: ChildPort | null;
  /** Does a task alone, independently of its other work. */
  run(task: string, io: { readonly signal: AbortSignal; readonly context: unknown }): PromiseLike<AnyResult>;
}

/** How deep agents may stand one below the other. */
export const MAX_DEPTH = 8;

/**
 * Which policies a recorded part is played with. `own`: the agent's, so that a difference shows. `recorded`: those that
 * it was made with, because the agent's apply only after it. `stricter`: there is no recorded part, and both apply.
 */
export type Policies = 'own' | 'recorded' | 'stricter';

/** What the leaves of an agent reach, looked up at each call: options may change between runs. */
export interface AgentPorts {
  readonly model: Model;
  /** The model that a run knows by this name, else the one at its place of the agent's list. */
  modelAt(known: { readonly at: number; readonly name: string }): Model;
  readonly facts: ModelFacts;
  /** A model of the option `models`, or of a preset. Throws for any other name. */
  modelNamed(name: string): Model;
  /** The schema of the answer and its check; null: the answer is text. */
  readonly output: TypedOutput | null;
  readonly registry: OwnRegistry;
  readonly mcp: McpCalls;
  confirm(): Promise<Confirm | 'wait' | undefined>;
  /** Keeps an "always allow", of the agent or of a conversation's owner. */
  remember(tool: ToolSpec, owner?: string): Promise<void>;
  /** Tells its live runs that a tool is always allowed now, its own or one of an agent below. */
  readonly onRemembered: ((below: boolean) => Promise<void>) | null;
  readonly options: AgentOptions;
  readonly redactor: Pick<OwnRedactor, 'openAt'>;
  setup(signal: AbortSignal): Promise<AgentSetup>;
  /** Decides about an escalation; null: not handled. */
  decide(error: EscalationError): Promise<Verdict | null>;
  readonly children: Children;
  readonly repairers: RepairAgents;
}

/** Agents below another, by the names of their tools. */
export type Children = ReadonlyMap<string, ChildPort>;

/** What an agent offers to those above it. */
export function portOf(agent: ChildAgent): ChildPort {
  const port = agent[CHILD];
  if (isChildPort(port)) return port;
  throw wrongOption(`'${agent.name}' is not an agent of this version of signalbox. Use one copy of the package.`);
}

function isChildPort(port: object): port is ChildPort {
  return 'prepare' in port && 'ports' in port;
}

/** A tool's name may hold no blanks. */
export function toolName(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}_.-]+/gu, '_').slice(0, 64);
}

/** The repair agents that the `onError` slots of an agent's tools, skills and options name or have chosen, by their names in places. */
export class RepairAgents {
  readonly #slots: { onErrors(): readonly OwnedOnError[] };
  #known: Map<string, ChildPort> | null = null;

  constructor(slots: { onErrors(): readonly OwnedOnError[] }) {
    this.#slots = slots;
  }

  /** All that are known: functions choose others when something has gone wrong. */
  all(): Children {
    for (const fixer of this.#slots.onErrors().flatMap(({ onError }) => fixersOf(onError))) this.#meet(fixer);
    return this.#known ?? NOBODY;
  }

  /**
   * A repair agent with the setup that it has now, its servers waited for; null for one that repairs by its own code.
   * Rejects for an agent that is already at work `above`: no agent repairs its own mistakes, whatever a function chooses.
   */
  async prepared(fixer: Repairer, above: readonly AgentPorts[], signal: AbortSignal): Promise<ChildSetup | null> {
    const met = this.#meet(fixer);
    if (met === null) return null;
    const { name, port } = met;
    if (above.some(({ options }) => options === port.ports.options))
      throw new Error(`The agent '${port.name}' cannot repair its own mistakes.`);
    return { tool: name, setup: (await port.prepare({ signal }))() };
  }

  #meet(fixer: Repairer): { readonly name: string; readonly port: ChildPort } | null {
    const port = isAgent(fixer) ? portOf(fixer).repairer : null;
    return port === null ? null : { name: this.#nameOf(port), port };
  }

  #nameOf(port: ChildPort): string {
    const known = (this.#known ??= new Map());
    for (const [name, one] of known) if (one === port) return name;
    const plain = `repair:${toolName(port.name)}`;
    let name = plain;
    for (let n = 2; known.has(name); n++) name = `${plain}-${n}`;
    known.set(name, port);
    return name;
  }
}

const NOBODY: Children = new Map();

function isAgent(fixer: object): fixer is ChildAgent {
  return CHILD in fixer;
}
