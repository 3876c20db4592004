import type { LeafError, Outcome } from '../../actors/journal.ts';
import { toJson } from '../../json/to-json.ts';
import { fork } from '../../journal/replay/fork.ts';
import { isJsonObject } from '../../json/json.ts';
import type { AgentChoices } from '../agent/agent-flags.ts';
import { UsageError } from '../command/command.ts';
import { makeAgent } from '../agent/make-agent.ts';
import { answerOnConsole, reportEnd, runOnce } from '../agent/run-once.ts';

interface ForkedFile {
  readonly recording: string;
  readonly at: number;
  readonly input: string | undefined;
  /** An outcome, or the value of one. */
  readonly outcome?: unknown;
  readonly recorded: boolean;
  readonly json: boolean;
}

/** Forks a recording, and shows the new run as `signalbox run` does. */
export async function forkFile(forked: ForkedFile, choices: AgentChoices): Promise<number> {
  const { recording, at, input, recorded, json } = forked;
  const cli = await makeAgent(choices, { answerOnConsole: !json && answerOnConsole() });
  try {
    const { result } = await runOnce(cli, (signal) => {
      try {
        return fork(recording, cli.agent, {
          at,
          signal,
          // oxlint-disable-next-line unicorn/no-thenable -- so the option is called; a text is never awaited for it
          then: recorded ? 'recorded' : 'live',
          ...(input === undefined ? {} : { input }),
          ...('outcome' in forked ? { outcome: outcomeOf(forked.outcome) } : {}),
        });
      } catch (error) {
        if (error instanceof TypeError) throw new UsageError(error.message);
        throw error;
      }
    });
    return reportEnd(cli, result, { json, said: true });
  } finally {
    await cli.close();
  }
}

function outcomeOf(given: unknown): Outcome {
  if (isJsonObject(given) && given['ok'] === false) return { ok: false, error: errorOf(given['error']) };
  const json = toJson(isJsonObject(given) && given['ok'] === true && 'value' in given ? given['value'] : given);
  return json.ok ? json : { ok: false, error: { code: 'not-json', message: json.reason } };
}

function errorOf(error: unknown): LeafError {
  if (isJsonObject(error) && typeof error['code'] === 'string' && typeof error['message'] === 'string')
    return { code: error['code'], message: error['message'] };
  throw new UsageError('--outcome: an outcome that is not ok needs an error with code and message.');
}
