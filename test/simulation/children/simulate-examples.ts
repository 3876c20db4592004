/** Simulates the agents of the examples, and prints as JSON what failed. Arguments: seeds of each agent, then files to take alone. */
import { readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type AgentOptions, type Model, createAgent } from '../../../src/index.ts';
import { simulate } from '../../../src/testing/index.ts';
import { captured } from './captured.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples');
const [count = '20', ...only] = process.argv.slice(2);
const seeds = Array.from({ length: Number(count) }, (_, index) => index + 1);

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'signalbox' && context.parentURL?.includes('/examples/') === true
      ? next('./captured.ts', { ...context, parentURL: import.meta.url })
      : next(specifier, context),
});

/** Of an agent that repairs calls: it says the same whenever it is asked. */
const CLERK: Model = { id: 'clerk', complete: () => Promise.resolve({ content: '{"path": "notes.md"}' }) };

/** The options of an agent, with the model of the simulation for those below it, and without what touches the world. */
function optionsFor(options: AgentOptions, given: AgentOptions): AgentOptions {
  const { mcpServers: _mcpServers, tools = [], children = [], ...rest } = options;
  const { journal: _journal, ...below } = given;
  return {
    ...rest,
    tools: tools.map((one) => ({ ...one, execute: (args: unknown) => ({ done: one.name, args }) })),
    children: children.map((child) => {
      const made = captured.find(({ agent }) => agent === child);
      return made === undefined ? child : createAgent(optionsFor(made.options, below));
    }),
    ...given,
  };
}

const simulated: {
  readonly example: string;
  readonly agent: string;
  readonly runs: number;
  readonly failures: unknown;
}[] = [];
const { exit } = process;
for (const example of readdirSync(EXAMPLES).filter((name) => name.endsWith('.ts'))) {
  if (only.length > 0 && !only.includes(example)) continue;
  captured.splice(0);
  // One after the other: time is the whole process's.
  const { fileAgent }: { fileAgent?: unknown } = await import(pathToFileURL(join(EXAMPLES, example)).href).catch(
    (error: unknown) => {
      process.stderr.write(`${example}: ${String(error)}\n`);
      return {};
    },
  );
  if (typeof fileAgent === 'function') fileAgent({ folder: '/files', model: CLERK, clerk: CLERK });
  for (const { options } of captured) {
    const { runs, failures } = await simulate((given) => createAgent(optionsFor(options, given)), { seeds });
    const found = failures.map(({ seed, check, reason, drawn, only: left }) => ({ seed, check, reason, drawn, left }));
    simulated.push({ example, agent: options.name ?? 'agent', runs, failures: found });
  }
}
console.log(JSON.stringify(simulated));
exit(0);
