import { openTerminal } from '../../output/console/terminal.ts';
import { type Action, actionCommand } from '../actions.ts';
import { EXIT_CODE } from '../exit-code.ts';
import { IN_OPTION } from '../read-arguments.ts';

const show: Action = {
  name: 'show',
  takes: ['<file|run id>'],
  help: 'tells it step by step',
  options: ['in', 'full'],
  async run({ positionals: [file = ''], flags, values }) {
    const [{ readRecordingOf }, { readRecording }, { recordingText }] = await Promise.all([
      import('./recording-file.ts'),
      import('../../journal/format/recording.ts'),
      import('./recording-text.ts'),
    ]);
    const terminal = openTerminal(process.stdout, undefined, process.env);
    const { text } = await readRecordingOf(file, values.get('in'));
    console.log(recordingText(readRecording(text), terminal, { full: flags.has('full') }));
    return EXIT_CODE.answered;
  },
};

const diff: Action = {
  name: 'diff',
  takes: ['<file|run id>', '<file|run id>'],
  help: 'says where two of them differ first',
  options: ['in', 'json'],
  async run({ positionals, flags, values }) {
    const { diffRecordings } = await import('./recording-diff.ts');
    return diffRecordings(positionals, { in: values.get('in'), json: flags.has('json') });
  },
};

const validate: Action = {
  name: 'validate',
  takes: ['<file|run id…>'],
  help: 'checks each line, then plays it on the machines of this version',
  options: ['in', 'json'],
  async run({ positionals, flags, values }) {
    const { validateRecordings } = await import('./recording-validate.ts');
    return validateRecordings(positionals, { in: values.get('in'), json: flags.has('json') });
  },
};

const normalize: Action = {
  name: 'normalize',
  takes: ['<file|run id…>'],
  help: 'prints it in the form that changes least between two runs',
  options: ['in', 'write', 'keep-times'],
  async run({ positionals, flags, values }) {
    const { normalizeFiles } = await import('./recording-normalize.ts');
    return normalizeFiles(positionals, {
      in: values.get('in'),
      write: flags.has('write'),
      times: flags.has('keep-times'),
    });
  },
};

/** `signalbox recording show|diff|validate|normalize`: works on recordings in files, without the agent's code. */
export const recordingCommand = actionCommand({
  name: 'recording',
  summary: 'Read, compare, check and tidy recordings.',
  about: [
    "Works on recordings without the agent's code: a file, the id of a run that is kept, or '-' for standard input.",
    ['Exit codes: 0 done, valid or the same, 1 not valid or different, 2 wrong usage, or no such file or run.'].join(
      '\n',
    ),
  ],
  options: [
    IN_OPTION,
    { name: 'full', help: "With 'show': all of every text, not its first lines." },
    { name: 'write', help: "With 'normalize': change the files instead of printing." },
    { name: 'keep-times', help: "With 'normalize': keep when things happened. Otherwise all times are 0." },
    { name: 'json', help: "With 'diff' and 'validate': print JSON for programs." },
  ],
  actions: [show, diff, validate, normalize],
});
