import { AGENT_OPTIONS, type AgentChoices, readAgentChoices } from './agent-options.ts';
import { chatLoop } from './chat-loop.ts';
import type { Command } from './command.ts';
import { EXIT_CODE } from './exit-code.ts';
import type { CliAgent } from './make-agent.ts';
import { answerOnConsole, recordingText, reportResult } from './report-result.ts';
import { runOnce } from './run-once.ts';
import { packageVersion } from '../inspector/version.ts';

const FIRST_QUESTION = 'What is in this folder, and which file is the largest?';

/** `signalbox chat`: answers a first question about the current folder, then whatever it is asked. */
export const chatCommand: Command = {
  name: 'chat',
  summary: 'Ask an agent about the current folder, question after question.',
  synopsis: '["<first question>"] [options]',
  about: [
    'Starts an agent with file tools on the current folder and asks it a first question. In a',
    'terminal it then takes further ones; elsewhere it prints the answer and the path of the',
    'recording, and exits. Tools that may change something ask first.',
    '',
    `The first question, unless you give another: ${FIRST_QUESTION}`,
  ].join('\n'),
  options: [
    ...AGENT_OPTIONS,
    { name: 'inspect', help: 'Show the runs on a local page as they go on; its address is printed.' },
    { name: 'open', help: 'Open that page in the browser.' },
  ],
  async run(args) {
    const choices = readAgentChoices(args, process.env);
    const question = args.positionals.join(' ').trim();
    // Loaded only now: help and wrong usage need none of it.
    const { makeAgent } = await import('./make-agent.ts');
    const watched = args.flags.has('inspect') || args.flags.has('open');
    const inspect = watched ? { open: args.flags.has('open') } : null;
    const cli = await makeAgent(choices, { answerOnConsole: answerOnConsole(), inspect });
    try {
      if (!choices.silent) greet(cli, choices);
      const { result, stoppedBy } = await runOnce(cli, question === '' ? FIRST_QUESTION : question);
      reportResult(cli, result);
      const inTerminal = process.stdin.isTTY === true && process.stderr.isTTY === true;
      const recording = choices.silent ? null : recordingText(cli, result);
      if (recording !== null) (inTerminal ? console.error : console.log)(recording);
      if (inTerminal) return await chatLoop(cli, stoppedBy);
      return EXIT_CODE[result.status];
    } finally {
      await cli.close();
    }
  },
};

function greet({ model, inspector }: CliAgent, { mcpFile }: AgentChoices): void {
  const tools = mcpFile === undefined ? `the files below ${process.cwd()}` : `the MCP servers of ${mcpFile}`;
  const lines = [
    `signalbox ${packageVersion()}`,
    ...(model.said === '' ? [] : [model.said]),
    `Tools: ${tools}. What may change something asks first.`,
    ...(inspector === null ? [] : [`Inspector: ${inspector.url}`]),
    '',
  ];
  console.error(lines.join('\n'));
}
