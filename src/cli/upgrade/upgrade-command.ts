import { type Command, EXIT_CODE, UsageError, jsonPrinter } from '../command/command.ts';

/** `signalbox upgrade --check <file>`: what a new version of an agent means for the runs that have not ended. */
export const upgradeCommand: Command = {
  synopsis: '--check <agent.ts> --journal <place> [options]',
  about: [
    'Loads a module that exports one or more agents (by default or by name), and replays every run of the',
    'journal that has not ended on this version of Signalbox and of its agent. Nothing is written, no tool runs',
    'and no model is called; MCP servers are connected for their tool lists. The module itself is executed.',
    '',
    'The verdict on each run:',
    '  compatible                      nothing differs',
    '  migrates                        it can continue; what differs is listed',
    '  must finish on the old version  the machines play it differently, or the tool of an open call is gone or no longer takes the recorded arguments',
    '',
    'Exit codes: 0 every run can continue, 1 one cannot, 2 wrong usage.',
  ].join('\n'),
  options: [
    { name: 'check', help: 'Check, and change nothing. Required.' },
    {
      name: 'journal',
      value: '<place>',
      help: 'Where the runs are kept: a folder of recordings, a SQLite file or a Postgres URL. Required.',
    },
    { name: 'agent', value: '<name>', help: 'Check only the runs of this agent.' },
    { name: 'export', value: '<name>', help: 'Load only this export: an agent, or a function that returns one.' },
    { name: 'json', help: 'Print what was found as one JSON object.' },
  ],
  async run({ positionals: [file, ...rest], values, flags }) {
    if (!flags.has('check')) throw new UsageError("it only checks: give '--check'.");
    if (file === undefined) throw new UsageError('the module with the agent is missing.');
    if (rest.length > 0) throw new UsageError(`one module is checked, and there are ${rest.length + 1}.`);
    const place = values.get('journal');
    if (place === undefined) throw new UsageError("'--journal' is missing: where the runs are kept.");
    // Loaded only now: help and wrong usage need none of it.
    const { checkedRuns, checkedText } = await import('./check-runs.ts');
    const printJson = jsonPrinter({ flags });
    const runs = await checkedRuns(file, { place, agent: values.get('agent'), exported: values.get('export') });
    const ok = runs.every(({ verdict }) => verdict !== 'must finish on the old version');
    printJson?.({ ok, runs });
    if (printJson === null) console.log(checkedText(runs));
    return ok ? EXIT_CODE.answered : EXIT_CODE.failed;
  },
};
