import { type Command, UsageError } from '../command/command.ts';
import { IN_OPTION } from '../command/read-arguments.ts';

/** `signalbox replay <file|run id>`: plays a recording on the machines of this version. */
export const replayCommand: Command = {
  name: 'replay',
  summary: 'Replay a recording and show every transition.',
  synopsis: '<file|run id> [options]',
  about: [
    "Replays a recording without the agent's code, and prints every transition; '-' is standard input.",
    'Nothing is called, and nothing waits.',
    '',
    'Exit codes: 0 as recorded, 1 the machines diverged from the recording, 2 wrong usage.',
  ].join('\n'),
  options: [IN_OPTION, { name: 'json', help: 'Print each transition as a JSON object on its own line.' }],
  async run({ positionals, flags, values }) {
    const [file, extra] = positionals;
    if (file === undefined) throw new UsageError('the recording is missing. Name a file, or the id of a run.');
    if (extra !== undefined) throw new UsageError(`'${extra}' is one argument too many.`);
    const [{ replayFile }, { readRecordingOf }] = await Promise.all([
      import('./replay-file.ts'),
      import('./kept-runs.ts'),
    ]);
    return replayFile(await readRecordingOf(file, values.get('in')), { json: flags.has('json') });
  },
};
