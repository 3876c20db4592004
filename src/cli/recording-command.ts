import { openTerminal } from '../output/console/terminal.ts';
import { type Action, actionCommand } from './actions.ts';
import { EXIT_CODE } from './exit-code.ts';

const show: Action = {
  name: 'show',
  takes: ['<file>'],
  help: 'tells it step by step',
  options: ['full'],
  async run({ positionals: [file = ''], flags }) {
    const [{ readRecordingFile }, { readRecording }, { recordingText }] = await Promise.all([
      import('./recording-file.ts'),
      import('../journal/recording.ts'),
      import('./recording-text.ts'),
    ]);
    const terminal = openTerminal(process.stdout, undefined, process.env);
    console.log(recordingText(readRecording(readRecordingFile(file)), terminal, { full: flags.has('full') }));
    return EXIT_CODE.answered;
  },
};

const diff: Action = {
  name: 'diff',
  takes: ['<file>', '<file>'],
  help: 'says where two of them differ first',
  options: ['json'],
  async run({ positionals, flags }) {
    const { diffRecordings } = await import('./recording-diff.ts');
    return diffRecordings(positionals, { json: flags.has('json') });
  },
};

const validate: Action = {
  name: 'validate',
  takes: ['<file…>'],
  help: 'checks each line, then plays it on the machines of this version',
  options: ['json'],
  async run({ positionals, flags }) {
    const { validateRecordings } = await import('./recording-validate.ts');
    return validateRecordings(positionals, { json: flags.has('json') });
  },
};

const normalize: Action = {
  name: 'normalize',
  takes: ['<file…>'],
  help: 'prints it in the form that changes least between two runs',
  options: ['write', 'keep-times'],
  async run({ positionals, flags }) {
    const { normalizeFiles } = await import('./recording-normalize.ts');
    return normalizeFiles(positionals, { write: flags.has('write'), times: flags.has('keep-times') });
  },
};

/** `signalbox recording show|diff|validate|normalize`: works on recordings in files, without the agent's code. */
export const recordingCommand = actionCommand({
  name: 'recording',
  summary: 'Read, compare, check and tidy recordings.',
  about: [
    "Works on recordings, such as .signalbox/runs/<run id>.jsonl, without the agent's code; '-' is standard input.",
    [
      'Exit codes: 0 done, valid or the same, 1 not valid or different, or a file that cannot be used,',
      '2 wrong usage.',
    ].join('\n'),
  ],
  options: [
    { name: 'full', help: "With 'show': all of every text, not its first lines." },
    { name: 'write', help: "With 'normalize': change the files instead of printing." },
    { name: 'keep-times', help: "With 'normalize': keep when things happened. Otherwise all times are 0." },
    { name: 'json', help: "With 'diff' and 'validate': print JSON for programs." },
  ],
  actions: [show, diff, validate, normalize],
});
