import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describeThrown } from '../json/to-json.ts';
import type { Inspector } from '../inspector/create-inspector.ts';
import { type Command, EXIT_CODE, IN_OPTION, UsageError } from './command/command.ts';
import { takeInterrupts } from './command/interrupts.ts';

const RUNS = join('.signalbox', 'runs');

/** `signalbox inspect [file|run id|folder]`: shows recordings on the inspector's page. */
export const inspectCommand: Command = {
  synopsis: '[file|run id|folder …] [options]',
  about: [
    'Serves a page on 127.0.0.1 that shows recordings: the machines, step by step, the conversation,',
    'the time. A folder is followed: runs that are still being written update live.',
    `Default: ${RUNS}. The page's address, with its token, is printed; Ctrl-C stops the server.`,
    "The second address is for apps that use Stately's inspector client: what they send is shown on the page too.",
  ].join('\n'),
  options: [
    IN_OPTION,
    { name: 'port', value: '<n>', help: 'The port to listen on. Default: a free port.' },
    { name: 'allowed-hosts', value: '<names>', help: 'Names that a proxy or a tunnel gives the page, with commas.' },
    { name: 'open', help: 'Open the page in the browser.' },
  ],
  async run({ values, flags, positionals }) {
    const port = readPort(values.get('port'));
    const runs = values.get('in');
    if (runs !== undefined && positionals.length === 0 && !isFolder(runs))
      throw new UsageError(`'${runs}' is not a folder. Name the runs to show, with --in.`);
    const places = positionals.length === 0 ? [runs ?? RUNS] : positionals;
    // Loaded only now: help and wrong usage need none of it.
    const [{ createInspector }, { readRecordingOf }] = await Promise.all([
      import('../inspector/create-inspector.ts'),
      import('./recording/kept-runs.ts'),
    ]);
    const shown: { readonly place: string; readonly text: string | null }[] = [];
    for (const place of places) {
      // What is missing is reported in the order in which it was named.
      shown.push({ place, text: isFolder(place) ? null : (await readRecordingOf(place, runs)).text });
    }
    const allowedHosts = values.get('allowed-hosts')?.split(',');
    const inspector = await createInspector({ port, allowedHosts, keepAlive: true, open: flags.has('open') }).catch(
      (error: unknown) => {
        const { code, message } = describeThrown(error);
        if (code === 'wrong-option') throw new UsageError("--allowed-hosts must list names such as 'a.example.com'.");
        throw new UsageError(`it cannot listen on port ${port}: ${message}`);
      },
    );
    const interrupts = takeInterrupts();
    try {
      for (const { place, text } of shown) {
        if (text !== null) openText(inspector, place, text);
        // Shown in the order in which they were named.
        else await inspector.openFolder(place);
      }
      console.log(inspector.url);
      console.error(`Other apps send to: ${inspector.statelyUrl}`);
      await new Promise<void>((resolve) => interrupts.handle(() => resolve()));
      return EXIT_CODE.answered;
    } finally {
      interrupts.release();
      await inspector.close();
    }
  },
};

function openText(inspector: Inspector, place: string, text: string): void {
  try {
    inspector.open(text);
  } catch (error) {
    throw new Error(`${place}: ${describeThrown(error).message}`, { cause: error });
  }
}

function isFolder(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

function readPort(text: string | undefined): number {
  if (text === undefined) return 0;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1;
  if (port >= 0 && port <= 65_535) return port;
  throw new UsageError(`--port must be a whole number from 0 to 65535, and is '${text}'.`);
}
