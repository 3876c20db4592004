import { text } from 'node:stream/consumers';
import { AGENT_OPTIONS, readAgentChoices } from './agent/agent-flags.ts';
import { type Command, UsageError } from './command/command.ts';
import { answerOnConsole, reportEnd, runOnce, wrappedNotice } from './agent/run-once.ts';

/** `signalbox run "<question>"`: one run, made for scripts. */
export const runCommand: Command = {
  synopsis: '"<question>" [options]',
  about: [
    "Answers one question and exits; '-' reads it from standard input. The answer goes to standard",
    'output, everything else to standard error. Without --mcp the agent has file tools on the',
    'current folder.',
    '',
    'Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 stopped by a limit, 130 cancelled.',
  ].join('\n'),
  options: [
    ...AGENT_OPTIONS,
    { name: 'json', help: 'Print the whole result as one JSON object instead of the answer.' },
  ],
  async run(args) {
    const choices = readAgentChoices(args);
    const given = args.positionals.join(' ');
    const question = given === '-' ? (await text(process.stdin)).trimEnd() : given;
    if (question.trim() === '') throw new UsageError('the question is missing. Put it in quotation marks.');
    const json = args.flags.has('json');
    // Loaded only now: help and wrong usage need none of it.
    const { makeAgent } = await import('./agent/make-agent.ts');
    const cli = await makeAgent(choices, { answerOnConsole: !json && answerOnConsole() });
    try {
      if (cli.model.said !== '' && !choices.silent) console.error(`${wrappedNotice(cli.model.said)}\n`);
      const { result } = await runOnce(cli, question);
      return reportEnd(cli, result, { json });
    } finally {
      await cli.close();
    }
  },
};
