import type { JsonObject } from '../parsing/json.ts';
import { leaf } from './leaf.ts';

/** A question to a person: may this call run? */
export interface ApprovalRequest {
  readonly callId: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** Why it is asked, in a sentence. */
  readonly reason: string;
}

/** What a person answers. `always-allow` is remembered for this tool of this agent. */
export type ApprovalDecision = 'allow-once' | 'always-allow' | 'deny';

/** The answer, or that nobody can be asked. */
export type ApprovalAnswer = { readonly decision: ApprovalDecision } | { readonly decision: 'nobody' };

/** Asks whoever may decide; `undefined` when there is nobody, and then the call is denied. */
export type Confirm = (
  request: ApprovalRequest & { readonly context?: unknown; readonly signal: AbortSignal },
) => ApprovalDecision | Promise<ApprovalDecision>;

/** Asks for an approval. While a run waits for `approve` or `reject` (`confirm: 'wait'`) it stays open until it is stopped. */
export const askApproval = (ports: {
  readonly confirm: () => Confirm | 'wait' | undefined | Promise<Confirm | 'wait' | undefined>;
}) =>
  leaf<ApprovalRequest, ApprovalAnswer>('askApproval', 'none', async (request, { signal, context }) => {
    const confirm = await ports.confirm();
    if (confirm === undefined) return { decision: 'nobody' };
    if (confirm === 'wait') return new Promise<never>(() => undefined);
    const decision: unknown = await confirm({ ...structuredClone(request), context, signal });
    return { decision: decision === 'allow-once' || decision === 'always-allow' ? decision : 'deny' };
  });
