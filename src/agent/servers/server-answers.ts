import { wrongOption } from '../../json/known-options.ts';
import { DEFAULTS } from '../options/agent-settings.ts';
import { LONGEST_TIMEOUT } from '../../actors/deadline.ts';
import type { Confirm } from '../../actors/ask-approval.ts';
import type { Model, ModelRequest } from '../../actors/model.ts';
import type { Redactor } from '../../actors/journal.ts';
import type { McpAnswers, McpElicit, McpSampled, McpSampling } from '../../mcp/config/answers.ts';
import { readMcpServer } from '../../mcp/config/read-config.ts';
import type { AgentOptions } from '../options/agent-options.ts';

/** The agent that answers; its options may change. */
export interface AnsweringAgent {
  readonly options: AgentOptions;
  readonly model: Model;
  readonly redactor: Pick<Redactor, 'redact'>;
  confirm(): Promise<Confirm | 'wait' | undefined>;
}

/** The longest reply that a server gets, in tokens, where the agent's own replies have no limit. */
const MAX_SAMPLE_TOKENS = 4096;

/**
 * What an agent answers its MCP servers with. Questions to a person go to the option `elicit`, else to the terminal; where
 * there is neither (`terminal`: a person sits at one), servers are not offered that they may ask. Replies come from the agent's own model.
 */
export function serverAnswers(agent: AnsweringAgent, terminal: boolean): McpAnswers {
  const { elicit, silent } = agent.options;
  const asksInTerminal = elicit === undefined && silent !== true && terminal;
  const ask: McpElicit = async (question, { signal }) => {
    const own = agent.options.elicit;
    const { approvalMs } = agent.options.timeouts ?? {};
    const limited =
      approvalMs === undefined
        ? signal
        : AbortSignal.any([signal, AbortSignal.timeout(Math.min(approvalMs, LONGEST_TIMEOUT))]);
    if (own !== undefined) return untilAborted(() => own(question, { signal: limited }), limited);
    const { terminalElicit } = await import('../../mcp/questions/terminal-elicit.ts');
    return terminalElicit()(question, { signal: limited });
  };
  return {
    ...(elicit === undefined && !asksInTerminal ? {} : { elicit: ask }),
    sample: async (request, { signal, confirm: mustAsk }) => {
      if (mustAsk) await agreed(request, await agent.confirm(), signal);
      const { model, redactor } = agent;
      return sample(request, { model, maxTokens: agent.options.maxTokens ?? MAX_SAMPLE_TOKENS, redactor, signal });
    },
  };
}

/** Throws unless someone agrees to show the request to the model. */
async function agreed(request: McpSampling, confirm: Confirm | 'wait' | undefined, signal: AbortSignal): Promise<void> {
  const { server, messages, systemPrompt, maxTokens } = request;
  if (typeof confirm !== 'function') throw new Error('nobody can approve it');
  const answer = await confirm({
    callId: `sampling:${server}`,
    tool: `${server} (a reply from your model)`,
    args: {
      ...(systemPrompt === undefined ? {} : { systemPrompt }),
      messages: messages.map(({ role, text }) => ({ role, text })),
      maxTokens,
    },
    reason: `The MCP server '${server}' asks for a reply from your model. You pay for that reply, and the server reads it.`,
    signal,
  });
  if (answer !== 'allow-once' && answer !== 'always-allow') throw new Error('a person refused');
}

/**
 * Asks the model on behalf of a server (sampling). Secrets in the request reach the model as marks; a mark in the reply
 * stays a mark, since a server could otherwise obtain any secret.
 */
async function sample(
  request: McpSampling,
  {
    model,
    maxTokens,
    redactor,
    signal,
  }: {
    readonly model: Model;
    readonly maxTokens: number;
    readonly redactor: Pick<Redactor, 'redact'>;
    readonly signal: AbortSignal;
  },
): Promise<McpSampled> {
  const { systemPrompt, temperature } = request;
  const messages: ModelRequest['messages'] = [
    ...(systemPrompt === undefined ? [] : [{ role: 'system' as const, content: systemPrompt }]),
    ...request.messages.map(({ role, text }) => ({ role, content: text })),
  ];
  const { content, finishReason, usage } = await model.complete(
    {
      messages: redactor.redact(messages),
      toolCalling: 'native',
      stream: false,
      maxTokens: Math.min(request.maxTokens, maxTokens),
      ...(temperature === undefined ? {} : { temperature }),
    },
    { signal: model.keepsTime === true ? signal : AbortSignal.any([signal, AbortSignal.timeout(DEFAULTS.responseMs)]) },
  );
  return {
    text: content,
    model: model.id ?? 'unknown',
    truncated: finishReason === 'length',
    ...(usage === undefined ? {} : { usage }),
  };
}

/** A person who does not answer in time has not answered: the question is cancelled, whatever the function does then. */
function untilAborted<T>(work: () => T | Promise<T>, signal: AbortSignal): Promise<T | { readonly action: 'cancel' }> {
  const { promise, resolve } = Promise.withResolvers<{ readonly action: 'cancel' }>();
  signal.addEventListener('abort', () => resolve({ action: 'cancel' }), { once: true });
  return Promise.race([Promise.resolve(work()), promise]);
}

/**
 * Refuses wrong entries of the option `mcpServers` when the agent is made, with a `TypeError` that names the server and
 * the key. Connections made by `createMcpConnection` have been checked already.
 */
export function checkServers(servers: { readonly [name: string]: unknown } = {}): void {
  for (const [name, entry] of Object.entries(servers)) {
    if (isConnection(entry)) continue;
    try {
      readMcpServer(name, entry);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw wrongOption(`createAgent: option 'mcpServers.${name}': ${reason}`, { cause });
    }
  }
}

function isConnection(entry: unknown): boolean {
  return typeof entry === 'object' && entry !== null && typeof Reflect.get(entry, 'callTool') === 'function';
}
