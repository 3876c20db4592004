import type { EscalationError } from '../json/errors.ts';
import type { JsonObject } from '../json/json.ts';
import type { Verdict } from '../recovery/verdicts.ts';
import type { ToolSource } from '../tools/server-tool.ts';
import type { ToolSpec } from '../tools/spec.ts';
import { deadline } from './deadline.ts';
import { leaf } from './leaf.ts';

/**
 * A question to a person: may this call run? Of a tool of an MCP server it also says whose it is (`server`, `address`,
 * `serverTool`), what the server says of it (`title`, `description`, `annotations`), and what has changed (`changes`).
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

/** What the leaf is given: the question, always which agent asks, and whose tool it is. */
export type AskApprovalInput = Pick<ApprovalRequest, 'callId' | 'tool' | 'args' | 'reason'> & {
  readonly agent: string;
  readonly source?: ToolSource;
};

/** What a person answers. `always-allow` is remembered for this tool of this agent. */
export type ApprovalDecision = 'allow-once' | 'always-allow' | 'deny';

/** The answer, or that nobody can be asked. */
export type ApprovalAnswer = { readonly decision: ApprovalDecision } | { readonly decision: 'nobody' };

/** Asks the one that may decide; `undefined` when there is nobody, and then the call is denied. */
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
      return { decision: decision === 'allow-once' || decision === 'always-allow' ? decision : 'deny' };
    },
  );

/** What is recorded of the question. Whose tool it is stands in the toolset. */
function asked({ agent, source: _source, ...request }: AskApprovalInput) {
  return agent === '' ? request : { ...request, agent };
}

/** Keeps an "always allow" for later runs, of a tool as it stood when it was asked about. */
export const rememberPermission = (ports: { readonly add: (tool: ToolSpec, agent: string) => void | Promise<void> }) =>
  leaf<{ readonly tool: ToolSpec | null; readonly agent: string }, null>(
    'rememberPermission',
    { effects: 'idempotent', request: ({ tool }) => ({ tool: tool?.name ?? '' }) },
    async ({ tool, agent }) => {
      if (tool !== null) await ports.add(tool, agent);
      return null;
    },
  );

/** An escalation that an agent is to decide about. `agent` says which: empty for the root. */
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
      const limit = deadline(timeoutMs, signal, late);
      try {
        return { verdict: await Promise.race([ports.decide(agent, error), limit.passed]) };
      } finally {
        limit.clear();
      }
    },
  );
