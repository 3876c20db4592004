import { AGENT_OPTIONS, readAgentChoices } from '../agent/agent-flags.ts';
import { type Arguments, type Command, UsageError } from '../command/command.ts';
import { IN_OPTION } from '../command/read-arguments.ts';

/** `signalbox fork <file|run id>`: continues a recorded run from one of its lines as a separate run. */
export const forkCommand: Command = {
  name: 'fork',
  summary: 'Continue a recorded run from one of its lines as a separate run.',
  synopsis: '<file|run id> --at <line> [options]',
  about: [
    'Replays a recording up to a line and continues from there as a separate run, with the model and',
    'tools of the options. Calls in flight at that line keep their recorded outcome. Lines are',
    "numbered as in 'signalbox recording show'.",
    '',
    'Exit codes are those of signalbox run.',
  ].join('\n'),
  options: [
    IN_OPTION,
    { name: 'at', value: '<line>', help: 'The last line that both runs share. Default: 1, with --input.' },
    {
      name: 'outcome',
      value: '<json>',
      help: 'A new outcome for that line, which is an outcome or the start of a model or tool call: its value, or {"ok": false, "error": {"code": …, "message": …}}.',
    },
    { name: 'input', value: '<text>', help: 'The question instead of the recorded one.' },
    {
      name: 'recorded',
      help: 'Take the outcomes of identical requests from the rest of the recording; only new ones run.',
    },
    ...AGENT_OPTIONS.filter(({ name }) => name !== 'max-steps'),
    { name: 'json', help: 'Print the whole result as one JSON object instead of the answer.' },
  ],
  async run(args) {
    const [file, extra] = args.positionals;
    if (file === undefined) throw new UsageError('the recording is missing. Name a file, or the id of a run.');
    if (extra !== undefined) throw new UsageError(`'${extra}' is one argument too many.`);
    const choices = readAgentChoices(args, process.env);
    const fork = { at: readLine(args), input: args.values.get('input'), ...readOutcome(args) };
    const [{ forkFile }, { readRecordingOf }] = await Promise.all([import('./fork-file.ts'), import('./kept-runs.ts')]);
    const { text: recording } = await readRecordingOf(file, args.values.get('in'));
    const how = { json: args.flags.has('json'), recorded: args.flags.has('recorded') };
    return forkFile({ recording, ...fork, ...how }, choices);
  },
};

function readLine({ values }: Arguments): number {
  const text = values.get('at') ?? (values.has('input') ? '1' : undefined);
  if (text === undefined) throw new UsageError('--at is missing: the last line that both runs share.');
  const line = /^\d+$/.test(text) ? Number(text) : 0;
  if (line >= 1) return line;
  throw new UsageError(`--at takes the number of a line, from 1 on, not '${text}'.`);
}

function readOutcome({ values }: Arguments): { readonly outcome?: unknown } {
  const text = values.get('outcome');
  if (text === undefined) return {};
  try {
    return { outcome: JSON.parse(text) };
  } catch {
    throw new UsageError(`--outcome takes JSON, and '${text}' is none. Is it in quotation marks?`);
  }
}
