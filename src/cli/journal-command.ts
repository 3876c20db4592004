import { type Action, EXIT_CODE, UsageError, actionCommand } from './command/command.ts';
import { isDatabaseUrl, PATIENCE_MS } from './recording/kept-runs.ts';

const migrate: Action = {
  name: 'migrate',
  takes: ['<url>'],
  help: 'creates or updates the tables of a Postgres database',
  options: ['schema', 'json'],
  run: async ({ values, flags, positionals: [url = ''] }) => {
    if (!isDatabaseUrl(url)) throw new UsageError('<url> must begin with postgres:// or postgresql://.');
    const { migratePostgres } = await import('../journal/postgres/index.ts');
    const schema = values.get('schema') ?? 'signalbox';
    const { from, to } = await migratePostgres(url, { schema, patienceMs: PATIENCE_MS });
    const text = from === to ? `is at version ${to} already` : `was brought from version ${from} to version ${to}`;
    console.log(flags.has('json') ? JSON.stringify({ schema, from, to }) : `The schema ${schema} ${text}.`);
    return EXIT_CODE.answered;
  },
};

/** `signalbox journal migrate`: the databases that runs are kept in. */
export const journalCommand = actionCommand({
  about: [
    'Prepares a database for postgresJournal:',
    'Any number of processes may do so at once. Exit codes: 0 done, 1 the database could not be changed, 2 wrong usage.',
  ],
  options: [
    { name: 'schema', value: '<name>', help: 'The schema that holds the tables. Default: signalbox.' },
    { name: 'json', help: 'Print JSON for programs.' },
  ],
  actions: [migrate],
});
