import type { AskApprovalInput } from '../../actors/ask-approval.ts';
import type { CallLlmInput } from '../../actors/call-llm.ts';
import type { LeafIo, LeafWork } from '../../actors/leaf.ts';
import type { Redactor } from '../../actors/journal.ts';
import type { FollowedRun, FollowedWork, RunTelemetry, WorkOutcome, WorkTelemetry } from '../../actors/telemetry.ts';
import type { CallToolInput } from '../../actors/tool-call/call-tool.ts';
import { isJsonObject } from '../../json/json.ts';
import { describeThrown } from '../../json/to-json.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { modelFor } from '../below/agent-actors.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { WAITS } from './engine-port.ts';
import type { RunStart } from './run-plan.ts';

/** Reports to the option `telemetry` what a run does outside of its machines. Whatever that does or throws, the run continues. */
export class FollowedByTelemetry {
  readonly #core: AgentCore;
  readonly #redactor: Redactor;
  readonly #asked: FollowedRun;
  #telemetry: RunTelemetry | null | undefined;

  constructor(core: AgentCore, redactor: Redactor, { runId, given }: Followable) {
    const { version } = core.options;
    this.#core = core;
    this.#redactor = redactor;
    this.#asked = {
      runId,
      agent: core.name,
      startedAt: Date.now(),
      ...(version === undefined ? {} : { version }),
      ...(given.traceparent === undefined ? {} : { traceparent: given.traceparent }),
    };
  }

  /** The run begins: its work, each piece of which is followed. */
  begin({ work, head }: Pick<RunStart, 'work' | 'head'>): LeafWork {
    const { conversation } = head.metadata;
    const run = typeof conversation === 'string' ? { ...this.#asked, conversation } : this.#asked;
    this.#telemetry = quietly(() => this.#core.options.telemetry?.follow(run));
    const telemetry = this.#telemetry;
    if (telemetry == null) return work;
    return (name) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its input is passed on as it came
      const execute = work(name) as Execute | undefined;
      return execute === undefined ? undefined : this.#followed(name, execute, telemetry);
    };
  }

  /** A run that never began is over, too. */
  end(result: AnyResult): void {
    if (this.#telemetry === undefined)
      this.#telemetry = quietly(() => this.#core.options.telemetry?.follow(this.#asked));
    quietly(() => this.#telemetry?.end(result));
  }

  #followed(name: string, execute: Execute, telemetry: RunTelemetry): Execute {
    return (input, io) => {
      const begun = quietly(() => telemetry.begin(this.#described(name, input, io.id)));
      if (begun === undefined) return execute(input, io);
      if (begun.traceparent !== undefined) Object.assign(io, { traceparent: begun.traceparent });
      return this.#through(begun, async () => execute(input, io), io.signal);
    };
  }

  async #through(begun: WorkTelemetry, execute: () => Promise<unknown>, signal: AbortSignal): Promise<unknown> {
    let isOver = false;
    const end = (outcome: WorkOutcome): void => {
      signal.removeEventListener('abort', stop);
      if (!isOver) quietly(() => begun.end(this.#redactor.redact(outcome)));
      isOver = true;
    };
    const failed = (thrown: unknown): void => {
      const { name, message, code = name } = describeThrown(thrown);
      end({ ok: false, error: { code, message }, aborted: signal.aborted });
    };
    const stop = (): void => failed(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    let working: Promise<unknown> | undefined;
    const work = (): Promise<unknown> => (working ??= execute());
    Promise.resolve(quietly(() => begun.run(work))).catch(() => undefined);
    try {
      const value = await work();
      // Replies and results are JSON; what other code gives is not looked at.
      end({ ok: true, value: isJsonObject(value) ? value : null });
      return value;
    } catch (thrown) {
      // A question that an engine keeps open is over when it is aborted.
      if (describeThrown(thrown).code !== WAITS) failed(thrown);
      throw thrown;
    }
  }

  #described(name: string, input: Given, id: string): FollowedWork {
    const at = { id, agents: agentsOf(id, input.agent ?? '') };
    // Its secrets are marks already.
    if (name === 'callLlm')
      return { ...at, kind: 'model', model: modelFor(this.#core, input).id, request: input.request };
    const { tool, callId } = input;
    if (name === 'callTool') {
      const server = input.origin.kind === 'mcp' ? { server: input.origin.server } : {};
      return { ...at, kind: 'tool', tool, callId, args: this.#redactor.redact(input.args), ...server };
    }
    return name === 'askApproval' ? { ...at, kind: 'approval', tool, callId } : { ...at, kind: 'code', name };
  }
}

/** The input of the leaf that is described, whose name says which; `agent` is left out by one that works for the root. */
type Given = CallLlmInput & CallToolInput & AskApprovalInput;

const A_CHILD = /\/childAgent(?=\/)/g;

/** The child agents on an actor path. `agent`: their names, joined with `/`. */
function agentsOf(path: string, agent: string): FollowedWork['agents'] {
  if (agent === '') return [];
  const names = agent.split('/');
  return Array.from(path.matchAll(A_CHILD), ({ 0: { length }, index }, at) => ({
    id: path.slice(0, index + length),
    name: (names[at] ?? agent).replace(/^repair:/, ''),
  }));
}

type Followable = { readonly runId: string; readonly given: { readonly traceparent?: string | undefined } };

type Execute = (input: Given, io: LeafIo) => unknown;

/** What a listener throws is its own affair. */
function quietly<T>(tell: () => T): T | undefined {
  try {
    return tell();
  } catch {
    return undefined;
  }
}
