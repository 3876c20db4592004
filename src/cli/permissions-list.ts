import { inert } from '../output/console/inert.ts';
import { readPermissions } from '../tools/permissions-file.ts';
import { EXIT_CODE } from './exit-code.ts';
import { type PermissionsPlace, warnOfPermissions } from './permissions-place.ts';

/** Prints which tools are always allowed and gives the exit code. Throws a `PermissionStoreError` for a file that it cannot use. */
export function listPermissions({ path, agent }: PermissionsPlace, how: { readonly json: boolean }): number {
  const kept = [...readPermissions(path, warnOfPermissions)]
    .filter(([name, tools]) => tools.size > 0 && (agent === undefined || name === agent))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, tools]) => [name, [...tools].toSorted()] as const);
  if (how.json) console.log(JSON.stringify({ path, agents: Object.fromEntries(kept) }));
  else if (kept.length === 0) console.log(nothingText(path, agent));
  else console.log([`Always allowed, as kept in ${inert(path)}:`, ...kept.map(agentText)].join('\n'));
  return EXIT_CODE.answered;
}

function nothingText(path: string, agent: string | undefined): string {
  return `Nothing is always allowed${agent === undefined ? '' : ` to agent '${inert(agent)}'`} (${inert(path)}).`;
}

function agentText([agent, tools]: readonly [string, readonly string[]]): string {
  return ['', inert(agent), ...tools.map((tool) => `  ${inert(tool)}`)].join('\n');
}
