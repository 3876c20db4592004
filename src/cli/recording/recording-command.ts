import { type Action, actionCommand } from '../command/command.ts';
import { IN_OPTION } from '../command/read-arguments.ts';

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
  name: 'recording',
  summary: 'Show, compare, validate and normalize recordings.',
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
