import { ReplayDivergenceError } from '../../journal/replay/divergence.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { REPLAY } from '../../journal/replay/replay.ts';
import { escaped } from '../../output/console/escaped.ts';
import { type Arguments, EXIT_CODE, jsonPrinter } from '../command/command.ts';
import type { RecordedVerdict } from './recording-actions.ts';
import { openRecording } from './kept-runs.ts';
import { loadSimulated, ownAgent } from '../simulate/simulate-agent.ts';

/** One recording on two versions of its agent. */
export async function bisectAgents({ values, flags, positionals }: Arguments): Promise<number> {
  const [named = '', ...modules] = positionals;
  const recording = await openRecording(named, values.get('in'));
  const printJson = jsonPrinter({ flags });
  const versions: Version[] = [];
  // In the order in which they were named.
  for (const module of modules) versions.push(await played(recording, module, values.get('export')));
  const [one, other] = versions;
  if (one === undefined || other === undefined) return EXIT_CODE.usage;
  const verdict = verdictOf(one, other);
  printJson?.({ verdict, versions });
  if (printJson === null) console.log([verdict, ...versions.flatMap(versionLines)].join('\n'));
  return verdict === 'same' ? EXIT_CODE.answered : EXIT_CODE.failed;
}

/** How a version of an agent plays a recording. */
interface Version {
  readonly module: string;
  /** The record at which it diverges from the recording; null if it replays it to its end. */
  readonly entry: number | null;
  /** How it ended, or what it did instead. */
  readonly says: string;
}

async function played(recording: Recording, module: string, wanted: string | undefined): Promise<Version> {
  const { agent } = await loadSimulated(module, wanted);
  try {
    const { status, reason } = await ownAgent(agent)[REPLAY](recording, {});
    return { module, entry: null, says: `${status} (${reason})` };
  } catch (error) {
    if (!(error instanceof ReplayDivergenceError)) throw error;
    const { cause, entry, state, expected, actual, difference } = error;
    if (cause === 'recording-cut') return { module, entry: null, says: 'its run had not ended' };
    // The first difference is shortened, and may be the same of two requests that are not.
    const where = difference === '' ? `recorded: ${expected}; now: ${actual}` : `${actual}: ${difference}`;
    return { module, entry, says: `in ${state}: ${where}` };
  }
}

function verdictOf(one: Version, other: Version): RecordedVerdict {
  if (one.entry === other.entry && one.says === other.says) return 'same';
  return other.entry !== null && (one.entry === null || other.entry < one.entry) ? 'failed' : 'changed';
}

function versionLines({ module, entry, says }: Version): readonly string[] {
  const where = entry === null ? 'plays all of it' : `leaves it at record ${entry}`;
  return [`  ${escaped(module)} ${where}: ${escaped(says)}`];
}
