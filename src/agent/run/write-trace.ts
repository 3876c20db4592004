import type { RunResult } from '../../machines/agent/run-result.ts';
import type { AgentCore } from '../agent-core.ts';
import type { RunOptions } from './run-options.ts';

interface Traced {
  readonly runId: string;
  readonly result: RunResult;
  readonly recording: () => string;
  /** With `debugPrompts`: the system prompt of each request. */
  readonly prompts?: readonly string[];
}

/**
 * Writes the trace of a run, if one is asked for: what the recording holds, the result and its time. A trace that cannot
 * be written is no failure of the run.
 */
export async function writeTrace(
  core: AgentCore,
  run: Pick<RunOptions, 'trace'>,
  { runId, result, recording, prompts }: Traced,
): Promise<void> {
  const asked = run.trace ?? core.options().trace ?? false;
  if (asked === false) return;
  const path =
    typeof asked === 'string' ? asked : `${core.options().outputDir ?? '.'}/${core.name}-${runId}.trace.json`;
  const lines: unknown[] = recording()
    .split('\n')
    .filter(Boolean)
    .map((line): unknown => JSON.parse(line));
  const trace = { agent: core.name, runId, result, ...(prompts === undefined ? {} : { prompts }), recording: lines };
  try {
    const { mkdir, writeFile } = await import('node:fs/promises');
    const { dirname } = await import('node:path');
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `${JSON.stringify(trace, null, 2)}\n`, { mode: 0o600 });
  } catch (error) {
    process.emitWarning(
      `The trace of run ${runId} could not be written to ${path}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
