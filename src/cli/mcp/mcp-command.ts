import { type Action, actionCommand, UsageError, shellWord } from '../command/command.ts';
import { endAtSignals } from '../command/interrupts.ts';
import type { LoginOptions } from './mcp-login.ts';
import type { McpEntry, Trying } from './mcp-servers.ts';

/** How servers are tried, or signed in at, and what is printed. */
type How = Trying & LoginOptions;

/** What an action does with the servers: with all, or with the one that its first argument names. */
type Act = (entries: readonly McpEntry[], how: How, typed: readonly string[]) => Promise<number>;

const TRY = ['mcp', 'timeout', 'json'];
const KNOWN = ['mcp', 'json'];

// What the actions do is loaded only then: help and wrong usage need none of it.
const actions: readonly Action[] = [
  action('list', TRY, 'the servers with their state', async (entries, how) =>
    (await import('./mcp-actions.ts')).listServers(entries, how),
  ),
  action('tools [server]', TRY, 'their tools, with policy and effects', async (entries, how) =>
    (await import('./mcp-actions.ts')).listTools(entries, how),
  ),
  action(
    'call <server> <tool> [json]',
    TRY,
    'calls a tool and prints its result',
    async (entries, how, [server = '', tool = '', args = '{}']) =>
      (await import('./mcp-actions.ts')).callByHand(entries, { server, tool, args }, how),
  ),
  action('doctor [server]', TRY, 'explains what is wrong with a server, and what to do', async (entries, how) =>
    (await import('./mcp-doctor.ts')).examineServers(entries, how),
  ),
  action(
    'login <server>',
    [...KNOWN, 'no-browser'],
    'signs in: opens the browser, or takes the final address that you paste',
    async (entries, how) => (await import('./mcp-login.ts')).logIn(entries, how),
  ),
  action('logout <server>', KNOWN, 'deletes the tokens locally', async (entries, how) =>
    (await import('./mcp-login.ts')).logOut(entries, how),
  ),
  action('status [server]', KNOWN, 'lists your logins; contacts no server', async (entries, how) =>
    (await import('./mcp-login.ts')).showStatus(entries, how),
  ),
];

/** `signalbox mcp list|tools|call|doctor|login|logout|status`: the MCP servers of a configuration file, without an agent. */
export const mcpCommand = actionCommand({
  about: [
    'Works with MCP servers. No model is needed.\n',
    [
      '  signalbox mcp call files list_directory \'{"path": "."}\'',
      '',
      "Each server is started or connected once and closed afterwards. 'call' ignores the tool's policy,",
      'since you made the call yourself.',
      '',
      'Exit codes: 0 ok, 1 the tool failed or a server is not usable, 2 wrong usage, 130 Ctrl-C or SIGTERM.',
    ].join('\n'),
  ],
  options: [
    {
      name: 'mcp',
      value: '<file>',
      help: "A JSON file with 'mcpServers'. Default: mcp.json, else .mcp.json in the current folder.",
    },
    {
      name: 'timeout',
      value: '<seconds>',
      help: "Longest time to connect, not with 'login', 'logout' and 'status'. Default: the file's connectTimeoutMs, else 30.",
    },
    { name: 'no-browser', help: "With 'login': only print the address to sign in at." },
    { name: 'json', help: 'Print JSON for programs.' },
  ],
  actions,
});

function action(usage: string, options: readonly string[], help: string, act: Act): Action {
  const [name = '', ...takes] = usage.split(' ');
  return {
    name,
    takes,
    help,
    options,
    async run({ values, flags, positionals }) {
      // Its servers are ended with it: one that a signal has ended is not a finding.
      const unhandle = endAtSignals();
      try {
        const { chooseMcpFile, pickEntries, readMcpEntries } = await import('./mcp-servers.ts');
        const given = values.get('mcp');
        const timeoutMs = readTimeout(values.get('timeout'));
        const entries = await readMcpEntries(chooseMcpFile(given, process.cwd()), process.env);
        const at = given === undefined ? '' : ` --mcp ${shellWord(given)}`;
        const how = { timeoutMs, at, json: flags.has('json'), browser: !flags.has('no-browser') };
        return await act(pickEntries(entries, positionals[0]), how, positionals);
      } finally {
        unhandle();
      }
    },
  };
}

/** Seconds as a person writes them; setTimeout takes no more than 24 days. */
function readTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= 86_400) return seconds * 1000;
  throw new UsageError(`--timeout must be a number of seconds above 0, at most 86400, and is '${text}'.`);
}
