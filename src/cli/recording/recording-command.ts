import { type Json, parsedText } from '../../json/json.ts';
import { AGENT_OPTIONS, readAgentChoices } from '../agent/agent-flags.ts';
import { type Action, actionCommand, type Arguments, type Command, IN_OPTION, UsageError } from '../command/command.ts';

// What the actions do is loaded only then: help and wrong usage need none of it.
const show: Action = {
  name: 'show',
  takes: ['<file|run id>'],
  help: 'shows it step by step',
  options: ['in', 'full'],
  run: async (args) => (await import('./recording-actions.ts')).showRecording(args),
};

const diff: Action = {
  name: 'diff',
  takes: ['<file|run id>', '<file|run id>'],
  help: 'shows the first difference between two',
  options: ['in', 'json'],
  run: async (args) => (await import('./recording-actions.ts')).diffRecordings(args),
};

const validate: Action = {
  name: 'validate',
  takes: ['<file|run id…>'],
  help: "checks each line, then replays it on this version's machines",
  options: ['in', 'json'],
  run: async (args) => (await import('./recording-validate.ts')).validateRecordings(args),
};

const normalize: Action = {
  name: 'normalize',
  takes: ['<file|run id…>'],
  help: 'prints it in the form that changes least between two runs',
  options: ['in', 'write', 'keep-times'],
  run: async (args) => (await import('./recording-actions.ts')).normalizeRecordings(args),
};

/** `signalbox recording show|diff|validate|normalize`: works on recordings in files, without the agent's code. */
export const recordingCommand = actionCommand({
  about: [
    "Works on recordings without the agent's code: a file, the id of a stored run, or '-' for standard input.",
    'Exit codes: 0 done, valid or the same, 1 not valid or different, 2 wrong usage, or no such file or run.',
  ],
  options: [
    IN_OPTION,
    { name: 'full', help: "With 'show': all of every text, not its first lines." },
    { name: 'write', help: "With 'normalize': change the files instead of printing." },
    { name: 'keep-times', help: "With 'normalize': keep the times. Otherwise they are 0." },
    { name: 'json', help: "With 'diff' and 'validate': print JSON for programs." },
  ],
  actions: [show, diff, validate, normalize],
});

/** `signalbox replay <file|run id>`: plays a recording on the machines of this version. */
export const replayCommand: Command = {
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
    const [{ replayFile }, { openRecording }] = await Promise.all([
      import('./recording-actions.ts'),
      import('./kept-runs.ts'),
    ]);
    return replayFile(await openRecording(file, values.get('in')), { json: flags.has('json') });
  },
};

/** `signalbox fork <file|run id>`: continues a recorded run from one of its lines as a separate run. */
export const forkCommand: Command = {
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
    const choices = readAgentChoices(args);
    const fork = { at: readLine(args), input: args.values.get('input'), ...readOutcome(args) };
    const [{ forkFile }, { openRecording }] = await Promise.all([
      import('./continue-run.ts'),
      import('./kept-runs.ts'),
    ]);
    const recording = await openRecording(file, args.values.get('in'));
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

function readOutcome({ values }: Arguments): { readonly outcome?: Json } {
  const text = values.get('outcome');
  if (text === undefined) return {};
  const outcome = parsedText(text);
  if (outcome !== undefined) return { outcome };
  throw new UsageError(`--outcome takes JSON, and '${text}' is none. Is it in quotation marks?`);
}

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
