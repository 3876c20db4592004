import { type Command, IN_OPTION, UsageError } from '../command/command.ts';

/** `signalbox bisect <file> <file>`, or a recording and two versions of an agent: where they diverge. */
export const bisectCommand: Command = {
  synopsis: '<file|run id> <file|run id> | <file|run id> <agent.ts> <agent.ts> [options]',
  about: [
    'Finds the first record where two recordings diverge; or replays one recording on the modules of two versions of',
    'its agent, and prints where each diverges from it. Nothing is called. The first line is the verdict: same,',
    'changed, or failed, if the second did not end as answered while the first did, or diverges earlier.',
    '',
    'Exit codes: 0 same, 1 changed or failed, 2 wrong usage.',
  ].join('\n'),
  options: [
    IN_OPTION,
    {
      name: 'export',
      value: '<name>',
      help: 'Use this export of the modules: an agent, or a function that makes one.',
    },
    { name: 'json', help: 'Print the verdict and the place as one JSON object.' },
  ],
  async run(args) {
    const { length } = args.positionals;
    if (length < 2 || length > 3)
      throw new UsageError('two recordings are compared, or one recording on two versions of an agent.');
    if (length === 2) return (await import('./recording-actions.ts')).diffRecordings(args);
    return (await import('./bisect-runs.ts')).bisectAgents(args);
  },
};
