import { type Command, IN_OPTION, UsageError } from '../command/command.ts';

/** `signalbox bisect <file> <file>`, or a recording and two versions of an agent: where they part. */
export const bisectCommand: Command = {
  synopsis: '<file|run id> <file|run id> | <file|run id> <agent.ts> <agent.ts> [options]',
  about: [
    'Of two recordings it says where they part; of one and the modules of two versions of its agent, where each',
    'leaves the recording when it is replayed on it. Nothing is called. The first word is the verdict: same, changed,',
    'or failed, when the second one did not end as answered while the first did, or leaves the recording earlier.',
    '',
    'Exit codes: 0 same, 1 changed or failed, 2 wrong usage.',
  ].join('\n'),
  options: [
    IN_OPTION,
    {
      name: 'export',
      value: '<name>',
      help: 'Of the modules take this export: an agent, or a function that makes one.',
    },
    { name: 'json', help: 'Print the verdict and the place as one JSON object.' },
  ],
  async run(args) {
    const { length } = args.positionals;
    if (length < 2 || length > 3)
      throw new UsageError('two recordings are compared, or one recording on two versions of an agent.');
    const { bisectAgents, bisectRecordings } = await import('./bisect-runs.ts');
    return length === 2 ? bisectRecordings(args) : bisectAgents(args);
  },
};
