import { inert } from '../../output/console/inert.ts';
import { type AgentPermissions, sortedServerTools, readPermissions } from '../../security/permissions-file.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import { EXIT_CODE } from '../exit-code.ts';
import { type PermissionsPlace, warnOfPermissions } from './permissions-place.ts';

/** Prints which tools are always allowed and gives the exit code. Throws a `PermissionStoreError` for a file that it cannot use. */
export function listPermissions({ path, agent }: PermissionsPlace, how: { readonly json: boolean }): number {
  const kept = [...readPermissions(path, warnOfPermissions)]
    .filter(([, { tools, serverTools }]) => tools.size + serverTools.length > 0)
    .filter(([name]) => agent === undefined || name === agent)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (how.json) console.log(JSON.stringify(jsonOf(path, kept)));
  else if (kept.length === 0) console.log(nothingText(path, agent));
  else console.log([`Always allowed, as kept in ${inert(path)}:`, ...kept.map(agentText)].join('\n'));
  return EXIT_CODE.answered;
}

type Kept = readonly [agent: string, own: AgentPermissions];

function jsonOf(path: string, kept: readonly Kept[]) {
  const serverTools = kept.flatMap(([agent, own]) =>
    own.serverTools.length === 0
      ? []
      : [
          [
            agent,
            sortedServerTools(own.serverTools).map(({ server, tool, name }) => ({ server, tool, name })),
          ] as const,
        ],
  );
  return {
    path,
    agents: Object.fromEntries(kept.map(([agent, { tools }]) => [agent, [...tools].toSorted()] as const)),
    ...(serverTools.length === 0 ? {} : { serverTools: Object.fromEntries(serverTools) }),
  };
}

function nothingText(path: string, agent: string | undefined): string {
  return `Nothing is always allowed${agent === undefined ? '' : ` to agent '${inert(agent)}'`} (${inert(path)}).`;
}

function agentText([agent, { tools, serverTools }]: Kept): string {
  const own = [...tools].toSorted().map((tool) => `  ${oneLine(tool)}`);
  return ['', oneLine(agent), ...own, ...sortedServerTools(serverTools).map(serverToolText)].join('\n');
}

function serverToolText({ server, tool, name }: ServerTool): string {
  return `  ${oneLine(name)}: ${oneLine(tool)} of ${oneLine(server)}, as long as it does not change`;
}

function oneLine(text: string): string {
  return inert(text).replaceAll('\n', '␊');
}
