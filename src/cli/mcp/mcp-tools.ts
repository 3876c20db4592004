import type { McpToolEntry } from '../../mcp/hub.ts';
import { inert } from '../../output/console/inert.ts';
import { EXIT_CODE } from '../exit-code.ts';
import { type Trying, withServers } from './mcp-connected.ts';
import type { McpEntry } from './mcp-file.ts';
import { textTable } from './mcp-table.ts';
import { complaintsOf } from './mcp-complaints.ts';

/**
 * Prints the tools of the servers with the policy and the effects that an agent would give them. Exit code 1 when the
 * list is not complete because a server is not there.
 */
export async function listTools(
  entries: readonly McpEntry[],
  options: Trying & { readonly json: boolean },
): Promise<number> {
  return withServers(entries, options, async (hub) => {
    const tools = hub.tools();
    if (options.json) console.log(JSON.stringify(tools.map(described)));
    else for (const line of tools.length === 0 ? ['No tools.'] : textTable(tools.map(cellsOf))) console.log(line);
    const complaints = complaintsOf(entries, hub);
    for (const complaint of complaints) console.error(complaint);
    return complaints.length === 0 ? EXIT_CODE.answered : EXIT_CODE.failed;
  });
}

function described({ name, server, tool, policy, effects, timeoutMs }: McpToolEntry): object {
  return {
    server,
    tool: tool.name,
    name,
    title: tool.title ?? null,
    policy,
    effects,
    timeoutMs,
    description: tool.description ?? '',
    inputSchema: tool.inputSchema,
    annotations: tool.annotations ?? {},
  };
}

const DESCRIPTION_LENGTH = 100;

function cellsOf({ server, tool, policy, effects }: McpToolEntry): readonly string[] {
  const words = [tool.title, tool.description].filter((text) => text !== undefined && text !== '');
  return [inert(server), inert(tool.name), policy ?? '', effects, oneLine(words.join(': '))];
}

function oneLine(text: string): string {
  const line = inert(text).replaceAll(/\s+/g, ' ').trim();
  return line.length > DESCRIPTION_LENGTH ? `${line.slice(0, DESCRIPTION_LENGTH - 1)}…` : line;
}
