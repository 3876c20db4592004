import { existsSync } from 'node:fs';
import type { AnyStateMachine } from 'xstate';
import { type Command, UsageError, EXIT_CODE, keepOutputFree, loadModule } from './command/command.ts';
import { didYouMean } from '../json/nearest-name.ts';

const FORMATS = ['mermaid', 'svg', 'json'] as const;

/** `signalbox diagram [machine|file]`: draws a machine. */
export const diagramCommand: Command = {
  synopsis: '[machine|file] [options]',
  about: [
    "Prints a diagram of one of Signalbox's machines (agent, llmCall, toolCall, loopDetection,",
    'mcpConnection, mcpCall, mcpTask) or of any XState v5 machine that your module exports. Default: agent.',
  ].join('\n'),
  options: [
    { name: 'format', value: '<format>', help: "mermaid (default), svg or json. svg needs the package 'elkjs'." },
    {
      name: 'export',
      value: '<name>',
      help: 'Which export of the file is the machine. Default: the first that is one.',
    },
  ],
  async run({ values, positionals }) {
    const [name = 'agent', ...rest] = positionals;
    if (rest.length > 0) throw new UsageError(`only one machine can be drawn, not ${positionals.length}.`);
    const asked = values.get('format') ?? 'mermaid';
    const format = FORMATS.find((one) => one === asked);
    if (format === undefined) throw new UsageError(`--format must be one of ${FORMATS.join(', ')}, and is '${asked}'.`);
    const free = keepOutputFree();
    const drawing = await drawn(await machineOf(name, values.get('export')), format);
    free();
    process.stdout.write(drawing);
    return EXIT_CODE.answered;
  },
};

async function drawn(machine: AnyStateMachine, format: (typeof FORMATS)[number]): Promise<string> {
  if (format === 'mermaid') return `${(await import('../inspector/diagram/mermaid.ts')).mermaid(machine)}\n`;
  const { drawMachine } = await import('../inspector/frames/drawing.ts');
  const drawing = drawMachine(machine);
  if (format === 'json') return `${JSON.stringify(drawing, null, 2)}\n`;
  return (await import('../inspector/diagram/svg.ts')).svg(drawing).catch((error: unknown) => {
    if (error instanceof Error && Reflect.get(error, 'code') === 'ERR_MODULE_NOT_FOUND')
      throw new UsageError('--format svg needs the layout engine: npm install elkjs.');
    throw error;
  });
}

async function machineOf(name: string, exported: string | undefined): Promise<AnyStateMachine> {
  const { OWN_MACHINES } = await import('../inspector/diagram/own-machines.ts');
  const own = OWN_MACHINES.get(name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase()));
  if (own !== undefined) return own;
  if (!existsSync(name))
    throw new UsageError(`there is no machine or file '${name}'.${didYouMean(name, [...OWN_MACHINES.keys()])}`);
  const { isMachine } = await import('../inspector/frames/actors.ts');
  const module = await loadModule(name);
  const values = exported === undefined ? Object.values(module) : [module[exported]];
  const machine = values.find(isMachine);
  if (machine !== undefined) return machine;
  const what = exported === undefined ? 'no XState machine' : `no XState machine as '${exported}'`;
  throw new UsageError(`${name} exports ${what}.`);
}
