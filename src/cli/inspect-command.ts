import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describeThrown } from '../actors/to-json.ts';
import type { Inspector } from '../inspector/create-inspector.ts';
import { type Command, UsageError } from './command.ts';
import { EXIT_CODE } from './exit-code.ts';
import { takeInterrupts } from './interrupts.ts';

const RUNS = join('.signalbox', 'runs');

/** `signalbox inspect [recording|folder]`: shows recordings on the inspector's page. */
export const inspectCommand: Command = {
  name: 'inspect',
  summary: 'Show recorded runs on a local page.',
  synopsis: '[recording|folder …] [options]',
  about: [
    'Serves a page on 127.0.0.1 that shows recordings: the machines, step by step, the conversation,',
    'the time. A folder is followed: runs that are still going on grow before your eyes.',
    `Default: ${RUNS}. The address, with its token, is printed; Ctrl-C ends it.`,
  ].join('\n'),
  options: [
    { name: 'port', value: '<n>', help: 'The port to listen on. Default: any that is free.' },
    { name: 'open', help: 'Open the page in the browser.' },
  ],
  async run({ values, flags, positionals }) {
    const port = readPort(values.get('port'));
    const places = positionals.length === 0 ? [RUNS] : positionals;
    const kinds = await Promise.all(places.map(async (place) => ({ place, folder: await isFolder(place) })));
    // Loaded only now: help and wrong usage need none of it.
    const { createInspector } = await import('../inspector/create-inspector.ts');
    const inspector = await createInspector({ port, keepAlive: true, open: flags.has('open') }).catch(
      (error: unknown) => {
        throw new UsageError(`it cannot listen on port ${port}: ${describeThrown(error).message}`);
      },
    );
    const interrupts = takeInterrupts();
    try {
      for (const { place, folder } of kinds) {
        // oxlint-disable-next-line no-await-in-loop -- shown in the order in which they were named
        await (folder ? inspector.openFolder(place) : openFile(inspector, place));
      }
      console.log(inspector.url);
      await new Promise<void>((resolve) => interrupts.handle(() => resolve()));
      return EXIT_CODE.answered;
    } finally {
      interrupts.release();
      await inspector.close();
    }
  },
};

async function openFile(inspector: Inspector, file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  try {
    inspector.open(text);
  } catch (error) {
    throw new Error(`${file}: ${describeThrown(error).message}`, { cause: error });
  }
}

async function isFolder(place: string): Promise<boolean> {
  try {
    return (await stat(place)).isDirectory();
  } catch {
    throw new UsageError(`there is no '${place}'. Name a recording (*.jsonl) or a folder of recordings.`);
  }
}

function readPort(text: string | undefined): number {
  if (text === undefined) return 0;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1;
  if (port >= 0 && port <= 65_535) return port;
  throw new UsageError(`--port must be a whole number from 0 to 65535, and is '${text}'.`);
}
