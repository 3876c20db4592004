import type { FaultName, SimulateOptions, SimulatedFailure, Simulation, simulate } from '../../testing/index.ts';
import {
  type Arguments,
  type Command,
  type OptionSpec,
  UsageError,
  EXIT_CODE,
  wholeNumber,
} from '../command/command.ts';
import { takeInterrupts } from '../command/interrupts.ts';
import { counted } from '../../terminal/text-width.ts';
import { escaped } from '../../output/console/escaped.ts';

/** The options that say what is simulated, whichever command does it. */
export const SIMULATED_OPTIONS: readonly OptionSpec[] = [
  { name: 'task', value: '<text>', help: 'What the user asks. Default: Simulate.' },
  { name: 'faults', value: '<names>', help: 'Only these faults, separated by commas; none: no fault. Default: all.' },
  {
    name: 'model',
    value: '<recording>',
    help: 'The model gives the replies of this recording. Default: it calls random tools.',
  },
];

/** `signalbox simulate <file>`: an agent under faults in virtual time, once for each seed. */
export const simulateCommand: Command = {
  synopsis: '<agent.ts> [options]',
  about: [
    'Loads a module that exports an agent, or by default a function that makes one with the options that',
    'it receives: createAgent({ …, ...options }). Runs the agent once for each seed, in virtual time, while',
    'the model, tools, journal, process, clock and people misbehave as the seed determines. Its tools really',
    'run, so give it tools that may. Only an agent that a function makes can crash and be resumed. What the',
    'module exports as `simulation` are options of simulate, such as check and begin.',
    '',
    'Every run is checked: it ends, it keeps the laws of verify, its replay is identical, a resumed run ends',
    'like one that was not interrupted, and no tool runs twice that may run only once. A failure is shrunk and',
    'written as a recording.',
    '',
    'Ctrl-C ends it with what was found until then.',
    '',
    'Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage, 130 Ctrl-C.',
  ].join('\n'),
  options: [
    { name: 'seeds', value: '<n>', help: 'How many runs. Default: 1000.' },
    { name: 'seed', value: '<n>', help: 'Only this seed: repeats a failure.' },
    ...SIMULATED_OPTIONS,
    { name: 'max-seconds', value: '<n>', help: 'The longest time to simulate. Default: until all seeds are run.' },
    { name: 'export', value: '<name>', help: 'Simulate this export: an agent, or a function that makes one.' },
    { name: 'out', value: '<folder>', help: 'Where recordings are written. Default: .signalbox/simulate.' },
    { name: 'json', help: 'Print what was found as one JSON object.' },
  ],
  async run(args) {
    const [file, ...rest] = args.positionals;
    if (file === undefined) throw new UsageError('the module to simulate is missing.');
    if (rest.length > 0) throw new UsageError(`one module is simulated, and there are ${args.positionals.length}.`);
    const seed = wholeNumber(args, 'seed');
    const seeds = seed === undefined ? (wholeNumber(args, 'seeds') ?? 1000) : [seed];
    const seconds = wholeNumber(args, 'max-seconds');
    // Loaded only now: help and wrong usage need none of it.
    const [{ loadSimulated, writeFailures }, { outFolder }] = await Promise.all([
      import('./simulate-agent.ts'),
      import('../command/out-folder.ts'),
    ]);
    const folder = outFolder(args, '.signalbox/simulate');
    const options: SimulateOptions = {
      ...(await readSimulated(args)),
      seeds,
      ...(seconds === undefined ? {} : { budgetMs: seconds * 1000 }),
    };
    const { agent, options: own } = await loadSimulated(file, args.values.get('export'));
    const found = await simulateShown(agent, { ...own, ...options, seeds });
    const files = writeFailures(found, folder);
    if (args.flags.has('json')) console.log(JSON.stringify({ ...found, files }));
    else console.log(foundText(found, files, commandFor(file, args)));
    if (found.stopped) return EXIT_CODE.cancelled;
    return found.ok ? EXIT_CODE.answered : EXIT_CODE.failed;
  },
};

/** Simulates, shows how far it is, and ends early at a signal; at a second one the process ends at once. */
async function simulateShown(
  agent: Parameters<typeof simulate>[0],
  options: SimulateOptions & { readonly seeds: number | readonly number[] },
): Promise<Simulation & { readonly stopped: boolean }> {
  const stop = new AbortController();
  const interrupts = takeInterrupts();
  interrupts.handle(() => {
    if (stop.signal.aborted) process.exit(EXIT_CODE.cancelled);
    stop.abort();
  });
  const most = counted(typeof options.seeds === 'number' ? options.seeds : options.seeds.length, 'run');
  const [{ simulate }, { showProgress }] = await Promise.all([
    import('../../testing/simulate.ts'),
    import('../verify/show-progress.ts'),
  ]);
  const progress = showProgress('Simulating');
  const found = await simulate(agent, {
    ...options,
    signal: stop.signal,
    onProgress: (soFar) => {
      options.onProgress?.(soFar);
      progress.tell(`Simulating: ${soFar.runs} of ${most}, ${counted(soFar.failures, 'failure')}`);
    },
  }).finally(progress.end);
  interrupts.release();
  return { ...found, stopped: stop.signal.aborted };
}

/** What the options of {@link SIMULATED_OPTIONS} say. */
export async function readSimulated(args: Arguments): Promise<SimulateOptions> {
  const { values } = args;
  const [task, model] = [values.get('task'), values.get('model')];
  const faults = await readFaults(args);
  const replies = model === undefined ? undefined : (await import('./simulate-agent.ts')).readReplies(model);
  return {
    ...(task === undefined ? {} : { task }),
    ...(faults === undefined ? {} : { faults }),
    ...(replies === undefined ? {} : { model: replies }),
  };
}

async function readFaults({ values }: Arguments): Promise<readonly FaultName[] | undefined> {
  const text = values.get('faults');
  if (text === undefined) return undefined;
  if (text === 'none') return [];
  const { FAULT_NAMES } = await import('../../testing/simulate/simulated-faults.ts');
  return text.split(',').map((written) => {
    const name = FAULT_NAMES.find((one) => one === written.trim());
    if (name === undefined)
      throw new UsageError(`there is no fault '${written.trim()}'. There are: ${FAULT_NAMES.join(', ')}.`);
    return name;
  });
}

/** The command without its seeds, to be repeated with one. */
function commandFor(file: string, { values }: Arguments): string {
  const given = [...values].filter(([name]) => !['seed', 'seeds', 'max-seconds'].includes(name));
  const options = given.map(
    ([name, value]) => ` --${name} ${/^[\w.,/-]+$/.test(value) ? value : JSON.stringify(value)}`,
  );
  return `signalbox simulate ${file}${options.join('')}`;
}

function foundText(found: Simulation, files: readonly (string | null)[], command: string): string {
  const { runs, effects, coverage, failures, waited } = found;
  const endings = Object.entries(coverage.endings)
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${reason} ${count}`);
  const injected = Object.values(coverage.faults).reduce((sum, count) => sum + count, 0);
  const machines = coverage.machines.map(
    ({ machine, states, edges }) =>
      `  ${machine}: ${states.covered} of ${states.total} states, ${edges.covered} of ${edges.total} arrows`,
  );
  return [
    `${counted(runs, 'run')}, ${counted(effects, 'effect')}, ${counted(injected, 'fault')}.`,
    `Runs that ended: ${endings.length === 0 ? 'none' : endings.join(', ')}.`,
    ...machines,
    ...(waited.length === 0 ? [] : [`These tools waited in real time: ${waited.map(escaped).join(', ')}.`]),
    ...(failures.length === 0
      ? ['Nothing failed.']
      : failures.flatMap((one, index) => failureLines(one, files[index] ?? null, command))),
  ].join('\n');
}

function failureLines(failure: SimulatedFailure, file: string | null, command: string): readonly string[] {
  const { seed, check, reason, drawn, records, count } = failure;
  return [
    '',
    `FAILED ${check}: ${escaped(reason)}`,
    `  ${counted(count, 'seed')}, the first ${seed}; ${counted(records.found, 'record')}, shrunk to ${records.left}. What is left:`,
    ...(drawn.length === 0 ? ['    no fault at all'] : drawn.map((says) => `    ${escaped(says)}`)),
    ...(file === null ? [] : [`  The recording: ${file}`]),
    `  To repeat it: ${command} --seed ${seed}`,
  ];
}
