import { defined } from '../../json/json.ts';
import { escaped } from '../../output/console/escaped.ts';
import { openTerminal } from '../../output/console/terminal.ts';
import type { ExploreProgress } from '../../testing/explore/explore-options.ts';
import { type Command, UsageError, EXIT_CODE, jsonPrinter, outFolder, wholeNumber } from '../command/command.ts';

/** `signalbox verify <file>`: what an agent can do as it is configured, proven path by path. */
export const verifyCommand: Command = {
  synopsis: '<agent.ts> [options]',
  about: [
    'Loads a module that exports one or more agents (by default or by name), and explores what each agent',
    'can do with its tools, policies and limits, for every kind of reply, result, answer and timeout. Every',
    'state is checked against the laws of docs/proof.md. No tool runs and no model is called; MCP servers',
    'are connected for their tool lists. The module itself is executed.',
    '',
    'If an agent is built by a function, export that function as default, or name it with --export.',
    '',
    'A broken law comes with a counterexample: a recording of the shortest path to it.',
    '',
    'Exit codes: 0 proven, 1 a law is broken, 2 wrong usage, 3 no law is broken, but not everything was',
    'explored.',
  ].join('\n'),
  options: [
    {
      name: 'max-steps',
      value: '<n>',
      help: "Explore with this step limit in place of the agent's own. 3 shows most of what can happen.",
    },
    { name: 'max-paths', value: '<n>', help: 'The most paths to explore. Default: 20000.' },
    {
      name: 'max-seconds',
      value: '<n>',
      help: 'The longest time to explore each agent. Default: 120. 0 means no limit.',
    },
    { name: 'export', value: '<name>', help: 'Verify only this export: an agent, or a function that returns one.' },
    { name: 'out', value: '<folder>', help: 'Where counterexamples are written. Default: .signalbox/verify.' },
    { name: 'json', help: 'Print what was found as one JSON object.' },
  ],
  async run(args) {
    const [file, ...rest] = args.positionals;
    if (file === undefined) throw new UsageError('the module to verify is missing.');
    if (rest.length > 0) throw new UsageError(`one module is verified, and there are ${args.positionals.length}.`);
    const maxSteps = wholeNumber(args, 'max-steps');
    const maxPaths = wholeNumber(args, 'max-paths');
    const maxSeconds = args.values.get('max-seconds') === '0' ? Infinity : (wholeNumber(args, 'max-seconds') ?? 120);
    // Loaded only now: help and wrong usage need none of it.
    const [{ exploredSoFar, loadAgents, verdictText, verifyAgent }, { showProgress }] = await Promise.all([
      import('./verify-agent.ts'),
      import('./show-progress.ts'),
    ]);
    const folder = outFolder(args, '.signalbox/verify');
    const printJson = jsonPrinter(args);
    const agents = await loadAgents(file, args.values.get('export'));
    const limits = defined({ maxSeconds, maxSteps, maxPaths });
    const terminal = openTerminal(process.stdout);
    const verdicts = [];
    for (const agent of agents) {
      const progress = showProgress(`Exploring ${escaped(agent.name)}`);
      const onProgress = (soFar: ExploreProgress) => progress.tell(exploredSoFar(agent.name, soFar));
      const verdict = await verifyAgent(agent, { ...limits, onProgress }, folder).finally(progress.end);
      verdicts.push(verdict);
      if (printJson === null) console.log(verdictText(verdict, terminal));
    }
    printJson?.({ agents: verdicts });
    if (verdicts.some(({ ok }) => !ok)) return EXIT_CODE.failed;
    return verdicts.every(({ exhaustive }) => exhaustive) ? EXIT_CODE.answered : EXIT_CODE.stopped;
  },
};
