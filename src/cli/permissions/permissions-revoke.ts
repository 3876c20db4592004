import { inert } from '../../output/console/inert.ts';
import { type AgentPermissions, NO_PERMISSIONS, readPermissions } from '../../security/permissions-file.ts';
import { permissionStore } from '../../security/permissions-store.ts';
import { UsageError } from '../command.ts';
import { EXIT_CODE } from '../exit-code.ts';
import { didYouMean } from '../../json/nearest-name.ts';
import { type PermissionsPlace, warnOfPermissions } from './permissions-place.ts';

/**
 * Takes the permission of one tool back and gives the exit code: that of a program, and those of MCP servers that are
 * called or registered so; with `server` only that server's. Throws a {@link UsageError} when it is not clear whose, and a
 * `PermissionStoreError` for a file that it cannot use.
 */
export function removePermission(place: PermissionsPlace, tool: string, server: string | undefined): number {
  const owner = ownerOf(place);
  if (owner === null) return nothing(`'${tool}' is not always allowed: nothing is (${place.path}).`);
  if (storeOf(place.path, owner.name).remove(tool, server)) {
    return done(`Agent '${owner.name}' asks again before it runs '${tool}'.`);
  }
  const hint = didYouMean(tool, owner.tools);
  const whose = server === undefined ? '' : ` of the server '${server}'`;
  return nothing(`'${tool}'${whose} is not always allowed to agent '${owner.name}'.${hint}`);
}

/** Takes all permissions of an agent back and gives the exit code. Throws like {@link removePermission}. */
export function clearPermissions(place: PermissionsPlace): number {
  const owner = ownerOf(place);
  if (owner === null) return done(`There is nothing to take back (${place.path}).`);
  if (owner.tools.length === 0) {
    return nothing(`Nothing is always allowed to agent '${owner.name}'.${didYouMean(owner.name, owner.all)}`);
  }
  storeOf(place.path, owner.name).clear();
  return done(`Agent '${owner.name}' asks again before it runs: ${owner.tools.join(', ')}.`);
}

interface Owner {
  readonly name: string;
  readonly tools: readonly string[];
  /** The names of all agents that have permissions. */
  readonly all: readonly string[];
}

/** The agent that was named, else the only one there is; null when there is none. */
function ownerOf({ path, agent }: PermissionsPlace): Owner | null {
  const permissions = readPermissions(path, warnOfPermissions);
  const all = [...permissions].flatMap(([name, tools]) => (namesOf(tools).length === 0 ? [] : [name])).toSorted();
  if (agent === undefined && all.length > 1) {
    throw new UsageError(`several agents have permissions: ${inert(all.join(', '))}. Say whose with --agent.`);
  }
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
  console.log(inert(text));
  return EXIT_CODE.answered;
}

function nothing(text: string): number {
  console.error(`signalbox permissions: ${inert(text)}`);
  return EXIT_CODE.failed;
}
