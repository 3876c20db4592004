import { describeThrown } from '../../json/to-json.ts';
import type { AgentPorts } from './child-port.ts';
import { askEscalation, rememberPermission, askApproval, type Confirm } from '../../actors/ask-approval.ts';
import { type CallLlmInput, type CallLlmPorts, type ModelFacts, callLlm } from '../../actors/call-llm.ts';
import type { Model } from '../../actors/model.ts';
import { callTool } from '../../actors/tool-call/call-tool.ts';
import { checkArgs } from '../../actors/tool-call/check-args.ts';
import { type OutputCheck, checkOutput } from '../../actors/check-output.ts';
import { type LeafFunction, type LeafWork, workOf } from '../../actors/leaf.ts';
import type { TypedOutput } from '../options/output-options.ts';
import {
  describeAgent,
  type ComposePromptInput,
  type PromptTexts,
  composePrompt,
} from '../../actors/compose-prompt.ts';
import { runFixer } from '../../actors/tool-call/run-fixer.ts';
import {
  type AgentSetup,
  DEFAULT_SETTINGS,
  type OutputSpec,
  type Toolset,
} from '../../machines/contract/agent-setup.ts';
import { agentMachine } from '../../machines/agent/agent.ts';
import { type LlmCallMachine, llmCallMachine } from '../../machines/llm-call/llm-call.ts';
import { type ToolCallMachine, toolCallMachine } from '../../machines/tool-call/tool-call.ts';
import { shownOutput } from '../../machines/agent/typed-output.ts';
import { joinParts, promptParts, toolNames } from '../../machines/agent/system-prompt.ts';
import type { AgentOptions } from '../options/agent-options.ts';

/** How each leaf of an agent and of all agents below it is made. Each receives the path of the agent that it works for. */
const LEAVES = {
  callLlm: (root: AgentPorts) => callLlm(new ModelsBelow(root)),
  callTool: (root: AgentPorts) =>
    callTool({
      local: (name, agent) => portsAt(root, agent).registry.find(name)?.execute,
      mcp: (agent) => portsAt(root, agent).mcp,
    }),
  checkOutput: (root: AgentPorts) => outputLeaf(root, null),
  checkArgs: (root: AgentPorts) =>
    checkArgs({ check: (name, agent) => portsAt(root, agent).registry.find(name)?.check }),
  askApproval: (root: AgentPorts) => askApproval({ confirm: (agent) => confirmOf(root, agent) }),
  runFixer: (root: AgentPorts) =>
    runFixer<AgentSetup>({
      slot: (tool, slot, agent) => portsAt(root, agent).registry.slot(tool, slot),
      prepared: (fixer, agent, signal) => {
        const above = lineTo(root, agent);
        return portsAt(root, agent).repairers.prepared(fixer, above, signal);
      },
    }),
  rememberPermission: (root: AgentPorts) => rememberLeaf(root),
  askEscalation: (root: AgentPorts) => askEscalation({ decide: (agent, error) => portsAt(root, agent).decide(error) }),
  describeAgent: (root: AgentPorts) => describeAgent<AgentSetup>({ setup: (signal) => root.setup(signal) }),
  composePrompt: (root: AgentPorts) =>
    composePrompt<Toolset, OutputSpec>({
      compose: (input) => composeByCode(portsAt(root, input.agent).options, input),
      timeoutMs: (agent) => portsAt(root, agent).options.timeouts?.toolMs ?? DEFAULT_SETTINGS.fixMs,
    }),
};

/** The models of an agent and of all agents below it. */
class ModelsBelow implements CallLlmPorts {
  readonly #root: AgentPorts;

  constructor(root: AgentPorts) {
    this.#root = root;
  }

  model(model: string, agent: string, listed: CallLlmInput['listed']): Model {
    return modelFor(this.#root, { model, agent, listed });
  }

  facts(agent: string): ModelFacts {
    return portsAt(this.#root, agent).facts;
  }

  openAt(text: string): number {
    return this.#root.redactor.openAt(text);
  }

  retryable(error: unknown, agent: string): boolean | undefined {
    return portsAt(this.#root, agent).options.retry?.retryable?.(error);
  }
}

/** What the leaves do in a run. Each is made when it is first needed: most runs need half of them. */
export function agentWork(root: AgentPorts): LeafWork {
  const made: Partial<Record<keyof typeof LEAVES, LeafFunction | undefined>> = {};
  return (name) => (isLeaf(name) ? (made[name] ??= workOf(LEAVES[name](root))) : undefined);
}

function isLeaf(name: string): name is keyof typeof LEAVES {
  return Object.hasOwn(LEAVES, name);
}

/** The model that a request goes to. */
export function modelFor(
  root: AgentPorts,
  { model, agent, listed }: Pick<CallLlmInput, 'model' | 'agent'> & { readonly listed?: CallLlmInput['listed'] },
): Model {
  const ports = portsAt(root, agent);
  if (listed !== undefined) return ports.modelAt(listed);
  return model === '' ? ports.model : ports.modelNamed(model);
}

/** The check of answers: by the agents in the tree, or by what a run was given in place of its agent's. */
function outputLeaf(root: AgentPorts, given: OutputCheck | null) {
  return checkOutput({
    check: (agent, ofRun) => (ofRun ? given : (portsAt(root, agent).output?.check ?? null)),
  });
}

/** Keeps an "always allow" where the agent that was asked about keeps them, for itself or for a conversation's owner. */
function rememberLeaf(root: AgentPorts, owner?: string) {
  return rememberPermission({
    add: async (tool, agent) => {
      const ports = portsAt(root, agent);
      await ports.remember(tool, owner);
      // The runs are the root's: they know the tools of all agents below.
      if (ports !== root) await root.onRemembered?.(true);
    },
  });
}

/** What a run adds to its agent's leaves: the schema of its answer, and whose an "always allow" is. */
export interface OwnWork {
  readonly output: TypedOutput | null;
  /** The owner of the conversation; absent: it is the agent's. */
  readonly owner?: string | undefined;
  /** If no one can be asked, calls wait. Default false. */
  readonly park?: boolean;
  /** Called if a question waits for an answer from outside, instead of staying open: its work ends with what this throws. */
  readonly onWait?: () => never;
}

/** The work of an agent's leaves for a run whose answer has its own schema, or in which an owner says "always allow". */
export function workFor(root: AgentPorts, work: LeafWork, own: OwnWork): LeafWork {
  const { output, owner, park = false, onWait } = own;
  const leaves: Readonly<Record<string, object>> = {
    ...(output === null ? {} : { checkOutput: outputLeaf(root, output.check) }),
    ...(owner === undefined ? {} : { rememberPermission: rememberLeaf(root, owner) }),
    ...(onWait === undefined ? {} : { askApproval: waitingElsewhere(root, onWait) }),
    ...(park
      ? { askApproval: askApproval({ confirm: async (agent) => (await confirmOf(root, agent)) ?? 'wait' }) }
      : {}),
  };
  return (name) => {
    const leaf = leaves[name];
    return leaf === undefined ? work(name) : workOf(leaf);
  };
}

function waitingElsewhere(root: AgentPorts, onWait: () => never) {
  return askApproval({
    confirm: async (agent) => {
      const confirm = await confirmOf(root, agent);
      return confirm === 'wait' ? onWait() : confirm;
    },
  });
}

/** What an agent in the tree reaches. A child that is gone is as if it had never been: its parent's leaves find nothing. */
function portsAt(root: AgentPorts, agent: string): AgentPorts {
  return lineTo(root, agent).at(-1) ?? root;
}

/** The agents from the root down to one, itself included. */
function lineTo(root: AgentPorts, agent: string): readonly AgentPorts[] {
  const line = [root];
  if (agent === '') return line;
  let ports = root;
  for (const name of agent.split('/')) {
    const child = ports.children.get(name) ?? ports.repairers.all().get(name);
    if (child === undefined) throw new Error(`This agent has no child agent '${agent}'.`);
    ports = child.ports;
    line.push(ports);
  }
  return line;
}

/** Who is asked: the nearest agent's own `confirm`, from the asking agent up to the root, else the root's default. */
async function confirmOf(root: AgentPorts, agent: string): Promise<Confirm | 'wait' | undefined> {
  return confirmIn(root, agent) ?? root.confirm();
}

/** The nearest `confirm` of the agents below the root, from the asking agent upwards. */
export function confirmIn(root: AgentPorts, agent: string): Confirm | 'wait' | undefined {
  for (let at = agent; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    const { confirm } = portsAt(root, at).options;
    if (confirm !== undefined) return confirm;
  }
  return undefined;
}

/** The actors to provide to the bare agent machine: our machines over this agent's leaves. */
export function agentActors(root: AgentPorts) {
  const asking = LEAVES.askApproval(root);
  return {
    llmCall: llmCallMachine.provide({ actors: { callLlm: LEAVES.callLlm(root) } }) as LlmCallMachine,
    toolCall: toolCallMachine.provide({
      actors: {
        callTool: LEAVES.callTool(root),
        checkArgs: LEAVES.checkArgs(root),
        askApproval: asking,
        runFixer: LEAVES.runFixer(root),
        rememberPermission: LEAVES.rememberPermission(root),
      },
    }) as ToolCallMachine,
    describeAgent: LEAVES.describeAgent(root),
    composePrompt: LEAVES.composePrompt(root),
    askEscalation: LEAVES.askEscalation(root),
    checkOutput: LEAVES.checkOutput(root),
    askApproval: asking,
  };
}

/** The agent machine over an agent's leaves. */
export function providedMachine(actors: ReturnType<typeof agentActors>) {
  return agentMachine.provide({ actors });
}

async function composeByCode(
  { instructions = '', systemPrompt, plans }: AgentOptions,
  input: ComposePromptInput & {
    readonly toolset: Toolset;
    readonly output: OutputSpec | null;
    readonly context: unknown;
  },
): Promise<PromptTexts> {
  const { task, state, context, toolset, output } = input;
  const text =
    typeof instructions === 'string'
      ? instructions
      : await textOf('instructions', () => instructions({ input: task, context, state }));
  const compose = async (mode: 'native' | 'json'): Promise<string> => {
    const parts = promptParts(text, toolset, {
      mode,
      plans,
      output: output === null ? null : shownOutput(output, toolNames(toolset)),
    });
    return systemPrompt === undefined ? joinParts(parts) : textOf('systemPrompt', () => systemPrompt(parts));
  };
  return { native: await compose('native'), json: await compose('json') };
}

/** The text that a function of the user makes. Its failure is not one of the model, so it has a code of its own. */
async function textOf(option: string, make: () => unknown): Promise<string> {
  const failed = (what: string, cause?: unknown): Error =>
    Object.assign(new Error(`The function ${option} ${what}`, { cause }), { code: 'prompt-failed' });
  let given: unknown;
  try {
    given = await make();
  } catch (error) {
    throw failed(`threw: ${describeThrown(error).message}`, error);
  }
  if (typeof given === 'string') return given;
  throw failed(`must return text, and returned ${given === null ? 'null' : typeof given}.`);
}
