import { askApproval, type Confirm } from '../actors/ask-approval.ts';
import { callLlm } from '../actors/call-llm.ts';
import { callTool } from '../actors/call-tool.ts';
import { checkArgs } from '../actors/check-args.ts';
import { type ComposePromptInput, type PromptTexts, composePrompt } from '../actors/compose-prompt.ts';
import { describeAgent } from '../actors/describe-agent.ts';
import type { McpCalls } from '../actors/mcp-calls.ts';
import { type Model, ModelError } from '../actors/model.ts';
import { rememberPermission } from '../actors/remember-permission.ts';
import { runFixer } from '../actors/run-fixer.ts';
import type { AgentSetup, Toolset } from '../machines/agent-setup.ts';
import { agentMachine } from '../machines/agent.ts';
import { llmCallMachine } from '../machines/llm-call.ts';
import { toolCallMachine } from '../machines/tool-call.ts';
import { joinParts, promptParts } from '../machines/system-prompt.ts';
import type { AgentOptions } from './options.ts';
import type { OwnRegistry } from './registry.ts';

/** What the leaves of an agent reach, looked up at each call: options may change between runs. */
export interface AgentPorts {
  readonly model: () => Model;
  readonly models: ReadonlyMap<string, Model>;
  readonly registry: OwnRegistry;
  readonly mcp: McpCalls;
  readonly confirm: () => Promise<Confirm | 'wait' | undefined>;
  /** Keeps an "always allow". */
  readonly remember: (tool: string) => Promise<void>;
  readonly options: () => AgentOptions;
  readonly setup: (signal: AbortSignal) => Promise<AgentSetup>;
}

/** The leaves of an agent. */
export function agentLeaves(ports: AgentPorts) {
  return {
    callLlm: callLlm({
      model: (name) => (name === '' ? ports.model() : namedModel(ports.models, name)),
      retryable: (error) => ports.options().retry?.retryable?.(error),
    }),
    callTool: callTool({ local: (name) => ports.registry.find(name)?.execute, mcp: ports.mcp }),
    checkArgs: checkArgs({ check: (name) => ports.registry.find(name)?.check }),
    askApproval: askApproval({ confirm: ports.confirm }),
    runFixer: runFixer({ slot: (tool, slot) => ports.registry.slot(tool, slot) }),
    rememberPermission: rememberPermission({ add: ports.remember }),
    describeAgent: describeAgent<AgentSetup>({ setup: ports.setup }),
    composePrompt: composePrompt<Toolset>({ compose: (input) => composeByCode(ports.options(), input) }),
  };
}

/** The actors to provide to the bare agent machine: our machines over this agent's leaves. */
export function agentActors(leaves: ReturnType<typeof agentLeaves>) {
  const { callLlm: askModel, describeAgent: describe, composePrompt: compose, ...ofCalls } = leaves;
  return {
    llmCall: llmCallMachine.provide({ actors: { callLlm: askModel } }),
    toolCall: toolCallMachine.provide({ actors: ofCalls }),
    describeAgent: describe,
    composePrompt: compose,
  };
}

/** The agent machine over an agent's leaves. */
export function providedMachine(actors: ReturnType<typeof agentActors>) {
  return agentMachine.provide({ actors });
}

function namedModel(models: ReadonlyMap<string, Model>, name: string): Model {
  const model = models.get(name);
  if (model !== undefined) return model;
  throw new ModelError('no-model', `There is no model '${name}' among the option models.`);
}

async function composeByCode(
  { instructions = '', systemPrompt }: AgentOptions,
  input: ComposePromptInput & { readonly toolset: Toolset; readonly context: unknown },
): Promise<PromptTexts> {
  const { task, state, context, toolset } = input;
  const text = typeof instructions === 'string' ? instructions : await instructions({ input: task, context, state });
  const compose = async (mode: 'native' | 'json'): Promise<string> => {
    const parts = promptParts(text, toolset, mode);
    return systemPrompt === undefined ? joinParts(parts) : systemPrompt(parts);
  };
  return { native: await compose('native'), json: await compose('json') };
}
