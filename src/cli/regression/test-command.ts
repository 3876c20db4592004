import { type Command, IN_OPTION, UsageError } from '../command/command.ts';
import { SIMULATED_OPTIONS, readSimulated } from '../simulate/simulate-command.ts';

/** `signalbox test <run id|file|seed>`: from a run that went wrong to a test that fails for it. */
export const testCommand: Command = {
  synopsis: '<run id|file|seed> --agent <agent.ts> [options]',
  about: [
    'Writes a test for vitest or node:test, and the recording that it reads, and checks that it fails.',
    '',
    'For a run it takes the first tool call that failed, or that was repeated in a loop: everything before it',
    'is replayed, then the tool really runs, in the command and in the test. For a seed it takes the smallest',
    'simulation that fails for the same reason. The module exports an agent, or by default a function that',
    'makes one.',
    '',
    'Exit codes: 0 a test that fails was written, 1 nothing failed, or it no longer fails, 2 wrong usage.',
  ].join('\n'),
  options: [
    { name: 'agent', value: '<file>', help: 'The module with the agent. Required.' },
    { name: 'export', value: '<name>', help: 'Use this export: an agent, or a function that makes one.' },
    { name: 'out', value: '<folder>', help: 'Where the test is written. Default: test.' },
    { name: 'runner', value: '<name>', help: 'vitest or node. Default: vitest if package.json names it, else node.' },
    IN_OPTION,
    ...SIMULATED_OPTIONS.map(({ help, ...option }) => ({ ...option, help: `With a seed: ${help}` })),
  ],
  async run(args) {
    const [named, extra] = args.positionals;
    if (named === undefined) throw new UsageError('there is no run. Name a file, the id of a run, or a seed.');
    if (extra !== undefined) throw new UsageError(`'${extra}' is one argument too many.`);
    if (!args.values.has('agent')) throw new UsageError('the module with the agent is missing: --agent <file>.');
    const { writeRegression } = await import('./write-regression.ts');
    return writeRegression(args, await readSimulated(args));
  },
};
