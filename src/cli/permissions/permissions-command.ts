import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Action, type Arguments, actionCommand, UsageError } from '../command/command.ts';

// What the actions do is loaded only then: help and wrong usage need none of it.
const list: Action = {
  name: 'list',
  takes: [],
  help: 'lists the tools that run without asking',
  options: ['agent', 'path', 'json'],
  run: async (args) =>
    (await import('./permissions-actions.ts')).listPermissions(await placeOf(args), { json: args.flags.has('json') }),
};

const remove: Action = {
  name: 'remove',
  takes: ['<tool>'],
  help: 'revokes one permission; a tool of an MCP server by either of its names',
  options: ['agent', 'path', 'server'],
  run: async (args) => {
    const { positionals, values } = args;
    const { removePermission } = await import('./permissions-actions.ts');
    return removePermission(await placeOf(args), positionals[0] ?? '', values.get('server'));
  },
};

const clear: Action = {
  name: 'clear',
  takes: [],
  help: 'revokes all permissions of an agent',
  options: ['agent', 'path'],
  run: async (args) => (await import('./permissions-actions.ts')).clearPermissions(await placeOf(args)),
};

/** `signalbox permissions`: shows and revokes "always allow" decisions. */
export const permissionsCommand = actionCommand({
  about: [
    'Works on the file that keeps "always allow" decisions, per agent:',
    [
      "The agent of 'signalbox chat' and 'signalbox run' is called signalbox.",
      '',
      'Exit codes: 0 done, 1 nothing to revoke, or the file is unusable, 2 wrong usage.',
    ].join('\n'),
  ],
  options: [
    {
      name: 'agent',
      value: '<name>',
      help: "Whose permissions. Default: those of all agents for 'list'; else those of the only one there is.",
    },
    { name: 'path', value: '<file>', help: 'The permission file. Default: ~/.signalbox/security/allowed-tools.json.' },
    { name: 'server', value: '<address>', help: "With 'remove': only of this MCP server, as 'list' shows it." },
    { name: 'json', help: "With 'list': print one JSON object." },
  ],
  actions: [list, remove, clear],
});

async function placeOf({ values }: Arguments) {
  const named = values.get('path');
  if (named !== undefined && !existsSync(named)) throw new UsageError(`--path: there is no file '${named}'.`);
  const { defaultPermissionPath } = await import('../../security/permissions-store.ts');
  return { path: named === undefined ? defaultPermissionPath() : resolve(named), agent: values.get('agent') };
}
