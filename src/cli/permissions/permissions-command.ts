import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, UsageError } from '../command/command.ts';
import { didYouMean } from '../../json/nearest-name.ts';

/** `signalbox permissions`: shows and revokes "always allow" decisions. */
export const permissionsCommand: Command = {
  synopsis: 'list | remove <tool> | clear [options]',
  about: [
    'Works on the file that keeps "always allow" decisions, per agent:',
    '  list           lists the tools that run without asking',
    '  remove <tool>  revokes one permission; a tool of an MCP server by either of its names',
    '  clear          revokes all permissions of an agent',
    "The agent of 'signalbox chat' and 'signalbox run' is called signalbox.",
    '',
    'Exit codes: 0 done, 1 nothing to revoke, or the file is unusable, 2 wrong usage.',
  ].join('\n'),
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
  async run({ values, flags, positionals }) {
    const [action = '', ...rest] = positionals;
    const json = flags.has('json');
    checkAction(action, rest);
    const server = values.get('server');
    if (server !== undefined && action !== 'remove')
      throw new UsageError(`--server goes with 'remove', not with '${action}'.`);
    if (json && action !== 'list') throw new UsageError(`--json goes with 'list', not with '${action}'.`);
    // Loaded only now: help and wrong usage need none of it.
    const [{ defaultPermissionPath }, { clearPermissions, listPermissions, removePermission }] = await Promise.all([
      import('../../security/permissions-store.ts'),
      import('./permissions-actions.ts'),
    ]);
    const named = values.get('path');
    if (named !== undefined && !existsSync(named)) throw new UsageError(`--path: there is no file '${named}'.`);
    const place = { path: named === undefined ? defaultPermissionPath() : resolve(named), agent: values.get('agent') };
    if (action === 'list') return listPermissions(place, { json });
    return action === 'clear' ? clearPermissions(place) : removePermission(place, rest[0] ?? '', server);
  },
};

const ACTIONS = ['list', 'remove', 'clear'];

function checkAction(action: string, rest: readonly string[]): void {
  if (action === '') throw new UsageError(`say what to do: ${ACTIONS.join(', ')}.`);
  if (!ACTIONS.includes(action)) {
    throw new UsageError(`there is no '${action}', but ${ACTIONS.join(', ')}.${didYouMean(action, ACTIONS)}`);
  }
  if (action === 'remove' && (rest[0] ?? '') === '') throw new UsageError("'remove' needs the name of a tool.");
  const extra = rest[action === 'remove' ? 1 : 0];
  if (extra !== undefined) throw new UsageError(`'${extra}' is one argument too many.`);
}
