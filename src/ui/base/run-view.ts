import type { RunEvent } from '../../machines/events/run-events.ts';
import type { OpenApproval } from './open-approvals.ts';

/** What a user interface may show of where a run is: never its context, its prompts, or a secret. */
export interface RunView {
  /** The state of the machine as a dotted path, such as `DIRECT_EXECUTION`. */
  readonly state: string;
  readonly step: number;
  readonly limit: number;
  /** The calls of this step: how many have begun or wait, and how many of them are over. */
  readonly calls: { readonly total: number; readonly done: number };
  /** The tools that run now, the root agent's. */
  readonly running: readonly string[];
  readonly pending: readonly { readonly id: string; readonly tool: string; readonly reason: string }[];
}

/** Follows where a run is. */
export class RunViewer {
  #step = 0;
  #limit = 0;
  readonly #running = new Map<string, string>();
  readonly #known = new Set<string>();
  readonly #done = new Set<string>();

  take(event: RunEvent): void {
    if (event.child !== undefined) return;
    if (event.type === 'step.started') {
      this.#step = event.step;
      this.#limit = event.limit;
      for (const kept of [this.#running, this.#known, this.#done]) kept.clear();
    }
    if (event.type === 'tool.started' || event.type === 'approval.requested') this.#known.add(event.callId);
    if (event.type === 'tool.started') this.#running.set(event.callId, event.tool);
    if (event.type !== 'tool.finished' && event.type !== 'tool.denied') return;
    this.#running.delete(event.callId);
    this.#known.add(event.callId);
    this.#done.add(event.callId);
  }

  view(path: string, pending: readonly OpenApproval[]): RunView {
    return {
      state: path,
      step: this.#step,
      limit: this.#limit,
      calls: { total: this.#known.size, done: this.#done.size },
      running: [...this.#running.values()],
      pending: pending.map(({ id, tool, reason }) => ({ id, tool, reason })),
    };
  }
}
