import { defined } from '../../json/json.ts';
import type { FaultName, SimulateOptions, SimulatedFailure, Simulation } from '../../testing/index.ts';
import {
  type Arguments,
  type Command,
  type OptionSpec,
  UsageError,
  EXIT_CODE,
  jsonPrinter,
  outFolder,
  shellWord,
  wholeNumber,
} from '../command/command.ts';
import { takeInterrupts } from '../command/interrupts.ts';
import type { Hooks } from './parts.ts';
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
    'run, so give it tools that may. Only an agent that a function makes can crash and be resumed. An export',
    'of the module named `simulation` holds options of simulate, such as check and begin.',
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
    { name: 'first-seed', value: '<n>', help: 'The first seed, so that every night can try others. Default: 1.' },
    { name: 'seed', value: '<n>', help: 'Only this seed: repeats a failure.' },
    { name: 'jobs', value: '<n>', help: 'Threads that share the seeds; each loads the module for itself. Default: 1.' },
    ...SIMULATED_OPTIONS,
    { name: 'max-seconds', value: '<n>', help: 'The longest time to simulate. Default: until all seeds have run.' },
    { name: 'export', value: '<name>', help: 'Simulate this export: an agent, or a function that makes one.' },
    { name: 'out', value: '<folder>', help: 'Where recordings are written. Default: .signalbox/simulate.' },
    { name: 'json', help: 'Print what was found as one JSON object.' },
  ],
  async run(args) {
    const [named, ...rest] = args.positionals;
    if (named === undefined) throw new UsageError('the module to simulate is missing.');
    if (rest.length > 0) throw new UsageError(`one module is simulated, and there are ${args.positionals.length}.`);
    // In the command that repeats a failure, and in that of a thread, a dash would begin an option.
    const file = named.replace(/^-/, './-');
    const given = { ...(await readSimulated(args)), ...readSeeds(args) };
    const jobs = wholeNumber(args, 'jobs') ?? 1;
    // Loaded only now: help and wrong usage need none of it.
    const [{ loadSimulated, writeFailures }, { ownPart, partsOf, simulateParts }] = await Promise.all([
      import('./simulate-agent.ts'),
      import('./parts.ts'),
    ]);
    const folder = outFolder(args, '.signalbox/simulate');
    const printJson = jsonPrinter(args);
    const { agent, options: own } = await loadSimulated(file, args.values.get('export'));
    const options = { ...own, ...given };
    const { seeds = 1000, firstSeed = 1 } = options;
    const [part, { simulate }] = [ownPart(), await import('../../testing/simulate.ts')];
    const alone = ({ signal, onProgress }: Hooks): Promise<Simulation> =>
      simulate(agent, {
        ...options,
        signal,
        onProgress: (soFar) => {
          own.onProgress?.(soFar);
          onProgress(soFar);
        },
      });
    if (part !== null) {
      part.tell(await alone(part));
      return EXIT_CODE.answered;
    }
    const parts = typeof seeds === 'number' ? partsOf({ firstSeed, seeds }, jobs) : [];
    const { found, lost, stopped } = await shown(typeof seeds === 'number' ? seeds : seeds.length, async (hooks) =>
      parts.length > 1
        ? simulateParts(parts, ['simulate', file, ...givenIn(args, OWN_TO_THREADS)], hooks)
        : { found: await alone(hooks), lost: [] },
    );
    for (const says of lost) console.error(`signalbox simulate: ${escaped(says)}`);
    if (found === null) return EXIT_CODE.failed;
    const files = writeFailures(found, folder);
    const words = [file, ...givenIn(args, [...OWN_TO_THREADS, 'max-seconds'])];
    const command = ['signalbox simulate', ...words.map(shellWord)];
    printJson?.({ ...found, stopped, files });
    if (printJson === null) console.log(foundText(found, files, command.join(' ')));
    if (stopped) return EXIT_CODE.cancelled;
    return found.ok && lost.length === 0 ? EXIT_CODE.answered : EXIT_CODE.failed;
  },
};

/** What says which seeds are simulated. */
const OWN_TO_THREADS: readonly string[] = ['seed', 'seeds', 'first-seed', 'jobs'];

function readSeeds(args: Arguments) {
  const [seed, seconds] = [wholeNumber(args, 'seed'), wholeNumber(args, 'max-seconds')];
  return defined({
    seeds: seed === undefined ? wholeNumber(args, 'seeds') : [seed],
    firstSeed: wholeNumber(args, 'first-seed'),
    budgetMs: seconds === undefined ? undefined : seconds * 1000,
  });
}

/** Simulates, shows how far it is, and ends early at a signal; at a second one the process ends at once. */
async function shown<T>(seeds: number, work: (hooks: Hooks) => Promise<T>): Promise<T & { readonly stopped: boolean }> {
  const stop = new AbortController();
  const interrupts = takeInterrupts();
  interrupts.handle(() => {
    if (stop.signal.aborted) process.exit(EXIT_CODE.cancelled);
    stop.abort();
  });
  const most = counted(seeds, 'run');
  const { showProgress } = await import('../verify/show-progress.ts');
  const progress = showProgress('Simulating');
  const { signal } = stop;
  const onProgress: Hooks['onProgress'] = ({ runs, failures }) =>
    progress.tell(`Simulating: ${runs} of ${most}, ${counted(failures, 'failure')}`);
  const found = await work({ signal, onProgress }).finally(progress.end);
  interrupts.release();
  return { ...found, stopped: signal.aborted };
}

/** What the options of {@link SIMULATED_OPTIONS} say. */
export async function readSimulated(args: Arguments): Promise<SimulateOptions> {
  const { values } = args;
  const [task, model] = [values.get('task'), values.get('model')];
  const faults = await readFaults(args);
  const replies = model === undefined ? undefined : (await import('./simulate-agent.ts')).readReplies(model);
  return defined({ task, faults, model: replies });
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

/** The options that were given with a value, but for some. */
function givenIn({ values }: Arguments, without: readonly string[]): readonly string[] {
  return [...values].flatMap(([name, value]) =>
    without.includes(name) ? [] : value.startsWith('-') ? [`--${name}=${value}`] : [`--${name}`, value],
  );
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
    ...(file === null ? [] : [`  The recording: ${escaped(file)}`]),
    `  To repeat it: ${escaped(command)} --seed ${seed}`,
  ];
}
