import type { Command } from './command.ts';
import { UsageError } from './command.ts';

/** `signalbox replay <file>`: plays a recording on the machines of this version. */
export const replayCommand: Command = {
  name: 'replay',
  summary: 'Play a recording back and show every move of its machines.',
  synopsis: '<file> [options]',
  about: [
    "Plays a recording without the agent's code, and prints the moves that the machines make; '-'",
    'is standard input. Nothing is called and nothing is waited for.',
    '',
    'Exit codes: 0 it played to where it stops, 1 the machines went another way, 2 wrong usage.',
  ].join('\n'),
  options: [{ name: 'json', help: 'Print each move as a JSON object on a line of its own.' }],
  async run({ positionals, flags }) {
    const [file, extra] = positionals;
    if (file === undefined) throw new UsageError('there is no file. Name a recording.');
    if (extra !== undefined) throw new UsageError(`'${extra}' is one argument too many.`);
    const { replayFile } = await import('./replay-file.ts');
    return replayFile(file, { json: flags.has('json') });
  },
};
