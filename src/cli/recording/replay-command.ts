import { type Command, UsageError } from '../command/command.ts';
import { IN_OPTION } from '../command/read-arguments.ts';

/** `signalbox replay <file|run id>`: plays a recording on the machines of this version. */
export const replayCommand: Command = {
  name: 'replay',
  summary: 'Play a recording back and show every move of its machines.',
  synopsis: '<file|run id> [options]',
  about: [
    "Plays a recording without the agent's code, and prints the moves that the machines make; '-'",
    'is standard input. Nothing is called and nothing is waited for.',
    '',
    'Exit codes: 0 it played to where it stops, 1 the machines went another way, 2 wrong usage.',
  ].join('\n'),
  options: [IN_OPTION, { name: 'json', help: 'Print each move as a JSON object on a line of its own.' }],
  async run({ positionals, flags, values }) {
    const [file, extra] = positionals;
    if (file === undefined) throw new UsageError('there is no recording. Name a file, or the id of a run.');
    if (extra !== undefined) throw new UsageError(`'${extra}' is one argument too many.`);
    const [{ replayFile }, { readRecordingOf }] = await Promise.all([
      import('./replay-file.ts'),
      import('./kept-runs.ts'),
    ]);
    return replayFile(await readRecordingOf(file, values.get('in')), { json: flags.has('json') });
  },
};
