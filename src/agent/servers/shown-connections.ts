import type { RunPort } from '../../inspector/frames/run-port.ts';
import type { McpConnection } from '../../mcp/connection-types.ts';
import type { McpHub } from '../../mcp/hub.ts';

/** The connections of an agent as reported to inspectors. Without an inspector there is nothing to do. */
export type ShownConnections = ReturnType<typeof shownConnections>;

interface ShownOptions {
  readonly agent: string;
  readonly redact: <T>(value: T) => T;
  readonly connections: () => McpHub | null;
}

/** Keeps every inspector's view of the connections in line with those that there are. */
export function shownConnections({ agent, redact, connections }: ShownOptions) {
  const ports = new Map<RunPort, Map<McpConnection, () => void>>();

  const update = (): void => {
    const hub = connections();
    const now = (hub?.servers() ?? []).flatMap(({ name }) => hub?.server(name) ?? []);
    for (const [port, shown] of ports) {
      for (const [connection, leave] of shown) {
        if (now.includes(connection)) continue;
        shown.delete(connection);
        leave();
      }
      for (const connection of now) {
        if (shown.has(connection)) continue;
        const leave = port.attachActor?.({ title: `MCP ${connection.name}`, agent, actor: connection.actor, redact });
        if (leave !== undefined) shown.set(connection, leave);
      }
    }
  };

  return {
    /** There may be other connections now. */
    update,
    on: (port: RunPort): void => {
      if (ports.has(port)) return;
      ports.set(port, new Map());
      update();
    },
  };
}
