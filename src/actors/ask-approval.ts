import type { EscalationError } from '../json/errors.ts';
import type { JsonObject } from '../json/json.ts';
import { wrongOption } from '../json/known-options.ts';
import type { Verdict } from '../recovery/verdicts.ts';
import type { ToolSource } from '../tools/server-tool.ts';
import type { ToolSpec } from '../tools/spec.ts';
import { withinLimit } from './deadline.ts';
import { leaf } from './leaf.ts';

/**
 * A question to a person: may this call run? For a tool of an MCP server it also has the server (`server`, `address`,
 * `serverTool`), the server's description of the tool (`title`, `description`, `annotations`), and what has changed (`changes`).
 */
export interface ApprovalRequest extends ToolSource {
  readonly callId: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** Why it is asked, in a sentence. */
  readonly reason: string;
  /** The child agent that asks, by its path in the tree; left out for the root. */
  readonly agent?: string;
}

/** The leaf's input: the question, the agent that asks, and the server that the tool belongs to. */
export type AskApprovalInput = Pick<ApprovalRequest, 'callId' | 'tool' | 'args' | 'reason'> & {
  readonly agent: string;
  readonly source?: ToolSource;
};

/** What a person answers. `always-allow` is remembered for this tool of this agent. */
export type ApprovalDecision = 'allow-once' | 'always-allow' | 'deny';

/** The answer, or that no one is available to answer. */
export type ApprovalAnswer = { readonly decision: ApprovalDecision } | { readonly decision: 'nobody' };

/**
 * Decides whether a call may run. Whatever it throws denies the call, and so does any value but the three decisions.
 */
export type Confirm<TContext = unknown> = (
  request: ApprovalRequest & { readonly context?: TContext; readonly signal: AbortSignal },
) => ApprovalDecision | Promise<ApprovalDecision>;

/** Asks for an approval. While a run waits for `approve` or `reject` (`confirm: 'wait'`) it stays open until it is stopped. */
export const askApproval = (ports: {
  readonly confirm: (agent: string) => Confirm | 'wait' | undefined | Promise<Confirm | 'wait' | undefined>;
}) =>
  leaf<AskApprovalInput, ApprovalAnswer>(
    'askApproval',
    { effects: 'none', request: asked },
    async (input, { signal, context }) => {
      const confirm = await ports.confirm(input.agent);
      if (confirm === undefined) return { decision: 'nobody' };
      if (confirm === 'wait') return new Promise<never>(() => undefined);
      const decision: unknown = await confirm({
        ...structuredClone({ ...asked(input), ...input.source }),
        context,
        signal,
      });
      if (decision !== 'allow-once' && decision !== 'always-allow' && decision !== 'deny')
        throw wrongOption(`confirm returned ${String(decision)}, not 'allow-once', 'always-allow' or 'deny'`);
      return { decision };
    },
  );

/** The part of the question that is recorded. The tool's server is recorded in the toolset. */
function asked({ agent, source: _source, ...request }: AskApprovalInput) {
  return agent === '' ? request : { ...request, agent };
}

/** A store of permissions that takes longer has not kept the decision; the call runs all the same. */
const LONGEST_KEEPING_MS = 10_000;

/** Stores an "always allow" for later runs, for the tool as it was when the question was asked. */
export const rememberPermission = (ports: { readonly add: (tool: ToolSpec, agent: string) => void | Promise<void> }) =>
  leaf<{ readonly tool: ToolSpec | null; readonly agent: string }, null>(
    'rememberPermission',
    { effects: 'idempotent', request: ({ tool }) => ({ tool: tool?.name ?? '' }) },
    async ({ tool, agent }, { signal }) => {
      const late = () => new Error(`the store of permissions did not answer within ${LONGEST_KEEPING_MS} ms`);
      if (tool !== null) await withinLimit(LONGEST_KEEPING_MS, signal, late, () => ports.add(tool, agent));
      return null;
    },
  );

/** An escalation that an agent must decide. `agent` is that agent's path, empty for the root. */
export interface AskEscalationInput {
  readonly agent: string;
  readonly error: EscalationError;
  readonly timeoutMs: number;
}

/** What was decided; null: not handled here. */
export interface AskEscalationOutput {
  readonly verdict: Verdict | null;
}

/** Asks the author's `onEscalation`. Whatever it throws counts as "not handled". */
export const askEscalation = (ports: {
  readonly decide: (agent: string, error: EscalationError) => Verdict | null | Promise<Verdict | null>;
}) =>
  leaf<AskEscalationInput, AskEscalationOutput>(
    'askEscalation',
    { effects: 'none', request: ({ error }) => error },
    async ({ agent, error, timeoutMs }, { signal }) => {
      const late = () => new Error(`onEscalation did not decide within ${timeoutMs} ms`);
      return { verdict: await withinLimit(timeoutMs, signal, late, () => ports.decide(agent, error)) };
    },
  );
