import { machineJson } from '../../output/console/escaped.ts';
import { openTerminal } from '../../output/console/terminal.ts';
import { type Command, UsageError, EXIT_CODE } from '../command/command.ts';

/** `signalbox parse [file]`: what is recovered from a model's reply, and how. */
export const parseCommand: Command = {
  synopsis: '[file] [options]',
  about: [
    "Reads a model's reply from a file, or from standard input without one or with '-', and shows",
    'how an agent would read it: the strategy, the thought, the answer, the calls or the plan, and',
    'every repair, marked in the text. Nothing runs.',
    '',
    'Exit codes: 0 an answer, a call, a plan or a value was recovered, 1 nothing was, 2 wrong usage.',
  ].join('\n'),
  options: [
    {
      name: 'tools',
      value: '<a,b,c>',
      help: 'The registered tools. Without them, only calls in the JSON envelope count, not those in model-specific formats.',
    },
    {
      name: 'schema',
      value: '<file>',
      help: 'A JSON file with a JSON Schema: recovers the one value that fits it, instead of a reply.',
    },
    { name: 'json', help: 'Print what was recovered as one JSON object.' },
  ],
  async run({ values, flags, positionals }) {
    const [file = '-', ...rest] = positionals;
    if (rest.length > 0) throw new UsageError(`one file is read, and there are ${positionals.length}.`);
    const tools = readToolNames(values.get('tools'));
    const schemaFile = values.get('schema');
    if (tools !== undefined && schemaFile !== undefined) {
      throw new UsageError('--tools is about replies and --schema about values: give one of them.');
    }
    // Loaded only now: help and wrong usage need none of it.
    const { readParseInput, readParseSchema, readingOf, readingText } = await import('./parse-reading.ts');
    const schema = schemaFile === undefined ? undefined : readParseSchema(schemaFile);
    const reading = readingOf(await readParseInput(file), { tools, schema });
    if (flags.has('json')) console.log(machineJson(reading.recovered));
    else console.log(readingText(reading, openTerminal(process.stdout)));
    return reading.usable ? EXIT_CODE.answered : EXIT_CODE.failed;
  },
};

function readToolNames(list: string | undefined): readonly string[] | undefined {
  if (list === undefined) return undefined;
  const names = list.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
  if (names.length === 0) throw new UsageError(`--tools names no tool: '${list}'.`);
  return names;
}
