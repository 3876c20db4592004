import { type Action, actionCommand, EXIT_CODE, UsageError } from '../command/command.ts';
import { AGENT_OPTIONS } from '../agent/agent-flags.ts';

/** The options of an agent that fit a run which has begun already. */
const AGENT_HERE = AGENT_OPTIONS.filter(({ name }) => !['max-steps', 'record'].includes(name));
const AGENT = AGENT_HERE.map(({ name }) => name);

const QUERY = ['agent', 'state', 'status', 'reason', 'tool', 'error-code', 'metadata', 'limit', 'after'] as const;

// What the actions do is loaded only then: help and wrong usage need none of it.
const list: Action = {
  name: 'list',
  takes: [],
  help: 'lists stored runs, newest first',
  options: ['in', 'json', ...QUERY],
  run: async (args) => (await import('./runs-actions.ts')).listRuns(args),
};

const show: Action = {
  name: 'show',
  takes: ['<run id>'],
  help: 'shows a run step by step; the beginning of its id is enough',
  options: ['in', 'json', 'full'],
  run: async (args) => (await import('./runs-actions.ts')).showRun(args),
};

const resume: Action = {
  name: 'resume',
  takes: ['<run id>'],
  help: 'continues a run that was interrupted or waits for an approval',
  options: ['in', 'json', ...AGENT],
  run: async (args) => (await import('../recording/continue-run.ts')).resumeKeptRun(args),
};

const recover: Action = {
  name: 'recover',
  takes: [],
  help: 'finishes runs whose process is gone, the oldest first',
  options: ['in', 'json', 'limit', 'older-than', ...AGENT],
  run: async (args) => (await import('../recording/continue-run.ts')).recoverKeptRuns(args),
};

const prune: Action = {
  name: 'prune',
  takes: [],
  help: 'removes old runs',
  options: ['in', 'json', 'max-runs', 'max-age-days', 'dry-run'],
  run: async (args) => (await import('./runs-actions.ts')).pruneRuns(args),
};

const repair: Action = {
  name: 'repair',
  takes: ['<run id>'],
  help: 'cuts a damaged run off before the damage',
  options: ['in', 'json'],
  run: async (args) => (await import('./runs-actions.ts')).repairRun(args),
};

/** `signalbox runs list|show|resume|recover|prune|repair`: the runs that are kept in a folder or a database. */
export const runsCommand = actionCommand({
  about: [
    'Works on the runs in a folder of recordings, a SQLite file or a Postgres database:',
    [
      "A run is 'running' while a live process writes it. A run without an end is 'interrupted', or 'waiting' if",
      'one of its calls awaits approval.',
      '',
      "'resume' and 'recover' need the model and the tools that the runs had; the answer of 'resume' goes to standard output.",
      '',
      "Exit codes: 0 done, 1 there is no such run, 2 wrong usage; those of 'resume' are those of 'signalbox run'.",
    ].join('\n'),
  ],
  options: [
    {
      name: 'in',
      value: '<place>',
      help: 'A folder of recordings, a SQLite file or a Postgres URL. Default: .signalbox/runs.',
    },
    { name: 'agent', value: '<name>', help: "With 'list': only runs of this agent." },
    { name: 'state', value: '<state>', help: "With 'list': running, interrupted, waiting or ended." },
    { name: 'status', value: '<status>', help: "With 'list': answered, stopped, failed or cancelled." },
    { name: 'reason', value: '<reason>', help: "With 'list': why they ended, such as max-steps." },
    { name: 'tool', value: '<name>', help: "With 'list': only runs that used this tool." },
    { name: 'error-code', value: '<code>', help: "With 'list': only runs that ended with this code." },
    {
      name: 'metadata',
      value: '<name=value>',
      help: "With 'list': only runs with this metadata, such as ticket=17, or a JSON object.",
    },
    { name: 'limit', value: '<n>', help: "With 'list': at most this many, the newest; with 'recover' the oldest." },
    { name: 'older-than', value: '<seconds>', help: "With 'recover': only runs that began at least this long ago." },
    { name: 'after', value: '<run id>', help: "With 'list': the next page, after this run." },
    { name: 'max-runs', value: '<n>', help: "With 'prune': how many finished runs to keep." },
    {
      name: 'max-age-days',
      value: '<n>',
      help: "With 'prune': removes every run that began more than this many days ago, finished or not, unless it is running.",
    },
    { name: 'dry-run', help: "With 'prune': only list what would be removed." },
    { name: 'full', help: "With 'show': all of every text, not its first lines." },
    ...AGENT_HERE.map((option) => ({ ...option, help: `With 'resume' and 'recover': ${option.help}` })),
    { name: 'json', help: "Print JSON for programs; with 'show' the recording itself." },
  ],
  actions: [list, show, resume, recover, prune, repair],
});

const migrate: Action = {
  name: 'migrate',
  takes: ['<url>'],
  help: 'creates or updates the tables of a Postgres database',
  options: ['schema', 'json'],
  run: async ({ values, flags, positionals: [url = ''] }) => {
    const { isDatabaseUrl, PATIENCE_MS } = await import('../recording/kept-runs.ts');
    if (!isDatabaseUrl(url)) throw new UsageError('<url> must begin with postgres:// or postgresql://.');
    const { migratePostgres } = await import('../../journal/postgres/index.ts');
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
