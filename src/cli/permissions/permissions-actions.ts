import { escaped, machineJson, oneLine } from '../../output/console/escaped.ts';
import {
  type AgentPermissions,
  NO_PERMISSIONS,
  readPermissions,
  sortedServerTools,
} from '../../security/permissions-file.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import { EXIT_CODE, UsageError } from '../command/command.ts';
import { permissionStore } from '../../security/permissions-store.ts';
import { didYouMean } from '../../json/nearest-name.ts';
import type { PermissionWarning } from '../../security/permissions.ts';

/**
 * Prints which tools are always allowed and returns the exit code. Throws a `PermissionStoreError` for a file that it cannot use.
 */
export function listPermissions({ path, agent }: PermissionsPlace, how: { readonly json: boolean }): number {
  const kept = [...readPermissions(path, warnOfPermissions)]
    .filter(([, { tools, serverTools }]) => tools.size + serverTools.length > 0)
    .filter(([name]) => agent === undefined || name === agent)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (how.json) console.log(machineJson(jsonOf(path, kept)));
  else if (kept.length === 0) console.log(nothingText(path, agent));
  else console.log([`Always allowed, as kept in ${escaped(path)}:`, ...kept.map(agentText)].join('\n'));
  return EXIT_CODE.answered;
}

type Kept = readonly [agent: string, own: AgentPermissions];

function jsonOf(path: string, kept: readonly Kept[]) {
  const shown = ({ server, tool, name }: ServerTool) => ({ server, tool, name });
  const serverTools = kept.flatMap(([agent, own]) =>
    own.serverTools.length === 0 ? [] : [[agent, sortedServerTools(own.serverTools).map(shown)] as const],
  );
  return {
    path,
    agents: Object.fromEntries(kept.map(([agent, { tools }]) => [agent, [...tools].toSorted()] as const)),
    ...(serverTools.length === 0 ? {} : { serverTools: Object.fromEntries(serverTools) }),
  };
}

function nothingText(path: string, agent: string | undefined): string {
  return `Nothing is always allowed${agent === undefined ? '' : ` to agent '${escaped(agent)}'`} (${escaped(path)}).`;
}

function agentText([agent, { tools, serverTools }]: Kept): string {
  const own = [...tools].toSorted().map((tool) => `  ${oneLine(tool)}`);
  return ['', oneLine(agent), ...own, ...sortedServerTools(serverTools).map(serverToolText)].join('\n');
}

function serverToolText({ server, tool, name }: ServerTool): string {
  return `  ${oneLine(name)}: ${oneLine(tool)} of ${oneLine(server)}, as long as it does not change`;
}

/**
 * Revokes the permission of one tool and returns the exit code: that of the program's tool, and those of MCP servers'
 * tools with this name or registered name; with `server` only that server's. Throws a {@link UsageError} when it is not
 * clear whose, and a `PermissionStoreError` for a file that it cannot use.
 */
export function removePermission(place: PermissionsPlace, tool: string, server: string | undefined): number {
  const owner = ownerOf(place);
  if (owner === null) return nothing(`'${tool}' is not always allowed: nothing is (${place.path}).`);
  if (storeOf(place.path, owner.name).remove(tool, server))
    return done(`Agent '${owner.name}' asks again before it runs '${tool}'.`);
  const hint = didYouMean(tool, owner.tools);
  const whose = server === undefined ? '' : ` of the server '${server}'`;
  return nothing(`'${tool}'${whose} is not always allowed to agent '${owner.name}'.${hint}`);
}

/** Revokes all permissions of an agent and returns the exit code. Throws like {@link removePermission}. */
export function clearPermissions(place: PermissionsPlace): number {
  const owner = ownerOf(place);
  if (owner === null) return done(`There is nothing to revoke (${place.path}).`);
  if (owner.tools.length === 0)
    return nothing(`Nothing is always allowed to agent '${owner.name}'.${didYouMean(owner.name, owner.all)}`);
  storeOf(place.path, owner.name).clear();
  return done(`Agent '${owner.name}' asks again before it runs: ${owner.tools.join(', ')}.`);
}

/** The agent that was named, else the only one there is; null when there is none. `all`: the names of all that have permissions. */
function ownerOf({ path, agent }: PermissionsPlace) {
  const permissions = readPermissions(path, warnOfPermissions);
  const all = [...permissions].flatMap(([name, tools]) => (namesOf(tools).length === 0 ? [] : [name])).toSorted();
  if (agent === undefined && all.length > 1)
    throw new UsageError(`several agents have permissions: ${all.join(', ')}. Say whose with --agent.`);
  const name = agent ?? all[0];
  return name === undefined ? null : { name, tools: namesOf(permissions.get(name) ?? NO_PERMISSIONS), all };
}

/** The names under which tools are known, also those of MCP servers. */
function namesOf({ tools, serverTools }: AgentPermissions): readonly string[] {
  return [...tools, ...serverTools.map(({ name }) => name)].toSorted();
}

function storeOf(path: string, agent: string) {
  return permissionStore({ path, agent, onWarning: warnOfPermissions });
}

function done(text: string): number {
  console.log(escaped(text));
  return EXIT_CODE.answered;
}

function nothing(text: string): number {
  console.error(`signalbox permissions: ${escaped(text)}`);
  return EXIT_CODE.failed;
}

/** The file, and the agent whose permissions are meant; without an agent, those of all. */
interface PermissionsPlace {
  readonly path: string;
  readonly agent: string | undefined;
}

/** Reports on standard error what is wrong with the file, and continues. */
function warnOfPermissions({ message }: PermissionWarning): void {
  nothing(message);
}
