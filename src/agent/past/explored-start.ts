import type { ExploredStart } from '../../journal/replay/replay.ts';
import { runRecord } from '../../journal/format/run-input.ts';
import type { Message } from '../../actors/model.ts';
import type { AgentCore } from '../agent-core.ts';

/** How a run of this task would begin now, for those who explore what it could do. */
export async function exploredStart(
  core: AgentCore,
  task: string,
  history: readonly Message[],
): Promise<ExploredStart> {
  const makeSetup = await core.prepare({ signal: new AbortController().signal });
  const refused = core.mcp.missing();
  const whole = { task, history, setup: makeSetup(), ...(refused === null ? {} : { refused }) };
  const head = core.sealed(runRecord(whole, { runId: 'explored', at: new Date(0).toISOString(), metadata: {} }));
  return { head, work: core.work() };
}
