import type { Run } from '../../agent/run/run.ts';
import { escaped } from '../../output/console/escaped.ts';
import { AGENT_OPTIONS, type AgentChoices, readAgentChoices } from '../agent/agent-flags.ts';
import { chatLoop } from './chat-loop.ts';
import { type Command, UsageError, EXIT_CODE } from '../command/command.ts';
import type { CliAgent } from '../agent/make-agent.ts';
import { answerOnConsole, whereRecorded, reportResult, wrappedNotice } from '../agent/run-once.ts';
import { type ChatRun, inTerminal, runInChat } from './typed-messages.ts';
import { packageVersion } from '../../inspector/version.ts';
import { type ChatSession, type SessionState, findSession, ownTalk, sessionState } from './chat-session.ts';

const FIRST_QUESTION = 'What is in this folder, and which file is the largest?';

/** `signalbox chat`: answers a first question about the current folder, then whatever it is asked. */
export const chatCommand: Command = {
  synopsis: '["<first question>"] [options]',
  about: [
    'Starts an agent with file tools on the current folder and asks it a first question. In a',
    'terminal you can then ask more; otherwise it prints the answer and the path of the recording,',
    'and exits. Tools that may change something ask first.',
    '',
    'With --session the conversation has a name and can be continued later, also by another process;',
    'an interrupted answer is finished first.',
    '',
    `The first question, unless you give another: ${FIRST_QUESTION}`,
  ].join('\n'),
  options: [
    ...AGENT_OPTIONS,
    { name: 'inspect', help: 'Show live runs on a local page; its address is printed.' },
    { name: 'open', help: 'Open that page in the browser.' },
    { name: 'session', value: '<name>', help: 'Continue the conversation with this name, or start it.' },
  ],
  async run(args) {
    const choices = readAgentChoices(args);
    const question = args.positionals.join(' ').trim();
    // Loaded only now: help and wrong usage need none of it.
    const { chooseJournal, makeAgent } = await import('../agent/make-agent.ts');
    const watched = args.flags.has('inspect') || args.flags.has('open');
    const name = args.values.get('session');
    const session = name === undefined ? null : findSession(name, chooseJournal(choices.recordFile));
    const cli = await makeAgent(choices, {
      answerOnConsole: answerOnConsole(),
      inspect: watched ? { open: args.flags.has('open') } : null,
      ...(session === null ? {} : { journal: session.journal }),
    });
    try {
      const begun = session === null ? null : { session, ...(await sessionState(cli.agent, session)) };
      const talk = session === null ? ownTalk(cli.agent) : session.talk(cli.agent);
      if (!choices.silent) greet(cli, choices, begun);
      const interrupted = begun?.interrupted ?? null;
      let last: ChatRun | null = null;
      if (interrupted !== null) last = await answer(cli, (signal) => cli.agent.resume(interrupted.runId, { signal }));
      const isNew = begun === null || (begun.messages === 0 && interrupted === null);
      if (last?.stoppedBy == null && (question !== '' || isNew))
        last = await answer(cli, (signal) => talk.run(question || FIRST_QUESTION, { signal }));
      if (inTerminal()) return await chatLoop(cli, talk, last);
      if (last === null) throw new UsageError('the question is missing. Put it in quotation marks.');
      return EXIT_CODE[last.result.status];
    } finally {
      await cli.close();
    }
  },
};

async function answer(cli: CliAgent, start: (signal: AbortSignal) => Run): Promise<ChatRun> {
  const ran = await runInChat(cli, start);
  reportResult(cli, ran.result);
  const recording = cli.console === null ? null : whereRecorded(cli, ran.result);
  if (recording !== null) (inTerminal() ? console.error : console.log)(recording);
  return ran;
}

function greet({ model, readsOnly, inspector }: CliAgent, { mcpFile }: AgentChoices, begun: Begun | null): void {
  const tools = mcpFile === undefined ? `the files below ${process.cwd()}` : `the MCP servers of ${mcpFile}`;
  const careful = readsOnly
    ? 'They are read, never changed; npm install @modelcontextprotocol/server-filesystem adds tools that write.'
    : 'What may change something asks first.';
  const lines = [
    `signalbox ${packageVersion()}`,
    ...(model.said === '' ? [] : [wrappedNotice(model.said)]),
    `Tools: ${escaped(tools)}. ${careful}`,
    ...(inspector === null ? [] : [`Inspector: ${inspector.url}`]),
    ...(begun === null ? [] : [sessionText(begun)]),
    '',
  ];
  console.error(lines.join('\n'));
}

/** A named conversation as it was found. */
interface Begun extends SessionState {
  readonly session: ChatSession;
}

function sessionText({ session, interrupted, messages }: Begun): string {
  const name = escaped(session.name);
  const known = messages === 0 ? 'new' : `${messages} messages so far`;
  if (interrupted === null) return `Conversation '${name}': ${known}.`;
  return `Conversation '${name}': first the interrupted answer to: ${escaped(interrupted.input)}`;
}
