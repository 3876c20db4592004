import { type Arguments, type Command, UsageError, shellWord } from '../command/command.ts';
import { endAtSignals } from '../command/interrupts.ts';
import { didYouMean } from '../../json/nearest-name.ts';

const ACTIONS = ['list', 'tools', 'call', 'doctor', 'login', 'logout', 'status'] as const;

/** `signalbox mcp list|tools|call|doctor|login|logout|status`: the MCP servers of a configuration file, without an agent. */
export const mcpCommand: Command = {
  synopsis:
    'list | tools [server] | call <server> <tool> [json] | doctor [server] | login|logout <server> | status [server] [options]',
  about: [
    'Works with MCP servers. No model is needed.',
    '',
    '  list                         the servers with their state',
    '  tools [server]               their tools, with policy and effects',
    '  call <server> <tool> [json]  calls a tool and prints its result',
    '  doctor [server]              explains what is wrong with a server, and what to do',
    '  login <server>               signs in: opens the browser, or takes the final address that you paste',
    '  logout <server>              deletes the tokens locally',
    '  status [server]              lists your logins; contacts no server',
    '',
    '  signalbox mcp call files list_directory \'{"path": "."}\'',
    '',
    "Each server is started or connected once and closed afterwards. 'call' ignores the tool's policy,",
    'since you made the call yourself.',
    '',
    'Exit codes: 0 ok, 1 the tool failed or a server is not usable, 2 wrong usage, 130 Ctrl-C or SIGTERM.',
  ].join('\n'),
  options: [
    {
      name: 'mcp',
      value: '<file>',
      help: "A JSON file with 'mcpServers'. Default: mcp.json, else .mcp.json in the current folder.",
    },
    {
      name: 'timeout',
      value: '<seconds>',
      help: "Longest time to connect to a server. Default: the file's connectTimeoutMs, else 30.",
    },
    { name: 'no-browser', help: "With 'login': only print the address to sign in at." },
    { name: 'json', help: 'Print JSON for programs.' },
  ],
  async run(args) {
    const action = readAction(args);
    // Its servers are ended with it: one that a signal has ended is not a finding.
    const unhandle = endAtSignals();
    try {
      return await act(action, args);
    } finally {
      unhandle();
    }
  },
};

async function act(action: Action, args: Arguments): Promise<number> {
  // Loaded only now: help and wrong usage need none of it.
  const { chooseMcpFile, pickEntries, readMcpEntries } = await import('./mcp-servers.ts');
  const given = args.values.get('mcp');
  const at = given === undefined ? '' : ` --mcp ${shellWord(given)}`;
  const options = { timeoutMs: readTimeout(args.values.get('timeout')), json: args.flags.has('json'), at };
  const path = chooseMcpFile(given, process.cwd());
  const entries = await readMcpEntries(path, process.env);
  const login = { json: options.json, at, browser: !args.flags.has('no-browser') };
  switch (action.kind) {
    case 'login':
      return (await import('./mcp-login.ts')).logIn(pickEntries(entries, action.server), login);
    case 'logout':
      return (await import('./mcp-login.ts')).logOut(pickEntries(entries, action.server), login);
    case 'status':
      return (await import('./mcp-login.ts')).showStatus(pickEntries(entries, action.server), login);
    case 'list':
      return (await import('./mcp-actions.ts')).listServers(entries, options);
    case 'tools':
      return (await import('./mcp-actions.ts')).listTools(pickEntries(entries, action.server), options);
    case 'call':
      return (await import('./mcp-actions.ts')).callByHand(pickEntries(entries, action.server), action, options);
    case 'doctor':
      return (await import('./mcp-doctor.ts')).examineServers(pickEntries(entries, action.server), options);
  }
}

type Action =
  | { readonly kind: 'list' }
  | { readonly kind: 'tools' | 'doctor' | 'status'; readonly server: string | undefined }
  | { readonly kind: 'login' | 'logout'; readonly server: string }
  | { readonly kind: 'call'; readonly server: string; readonly tool: string; readonly args: string };

function readAction({ positionals }: Arguments): Action {
  const [word = '', server, tool, args = '{}'] = positionals;
  const kind = ACTIONS.find((known) => known === word);
  if (kind === undefined) {
    const what = word === '' ? 'no action given' : `there is no 'signalbox mcp ${word}'`;
    throw new UsageError(`${what}: ${ACTIONS.join(', ')}.${didYouMean(word, ACTIONS)}`);
  }
  const most = { list: 1, tools: 2, call: 4, doctor: 2, login: 2, logout: 2, status: 2 }[kind];
  const extra = positionals[most];
  if (extra !== undefined) {
    const quotes = kind === 'call' ? ' Put the arguments into quotation marks, as one piece of JSON.' : '';
    throw new UsageError(`'${extra}' is one word too many for 'signalbox mcp ${kind}'.${quotes}`);
  }
  if (kind === 'list') return { kind };
  if (kind === 'login' || kind === 'logout') {
    if (server === undefined) throw new UsageError(`'${kind}' needs a server: signalbox mcp ${kind} <server>.`);
    return { kind, server };
  }
  if (kind !== 'call') return { kind, server };
  if (server === undefined || tool === undefined) {
    throw new UsageError("'call' needs a server and a tool: signalbox mcp call <server> <tool> [json].");
  }
  return { kind, server, tool, args };
}

/** Seconds as a person writes them; setTimeout takes no more than 24 days. */
function readTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= 86_400) return seconds * 1000;
  throw new UsageError(`--timeout must be a number of seconds above 0, at most 86400, and is '${text}'.`);
}
