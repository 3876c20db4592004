import type { Command } from './command.ts';

/** A command that is loaded when it is used. */
interface Listed {
  readonly name: string;
  readonly load: () => Promise<Command>;
}

/** All commands, in the order in which the help lists them. The first is the one that runs when none is named. */
export const COMMANDS: readonly [Listed, ...Listed[]] = [
  { name: 'chat', load: async () => (await import('./chat/chat-command.ts')).chatCommand },
  { name: 'run', load: async () => (await import('./run/run-command.ts')).runCommand },
  { name: 'runs', load: async () => (await import('./runs/runs-command.ts')).runsCommand },
  { name: 'replay', load: async () => (await import('./recording/replay-command.ts')).replayCommand },
  { name: 'fork', load: async () => (await import('./recording/fork-command.ts')).forkCommand },
  { name: 'recording', load: async () => (await import('./recording/recording-command.ts')).recordingCommand },
  { name: 'parse', load: async () => (await import('./parse/parse-command.ts')).parseCommand },
  { name: 'verify', load: async () => (await import('./verify/verify-command.ts')).verifyCommand },
  { name: 'permissions', load: async () => (await import('./permissions/permissions-command.ts')).permissionsCommand },
  { name: 'mcp', load: async () => (await import('./mcp/mcp-command.ts')).mcpCommand },
  { name: 'inspect', load: async () => (await import('./inspect-command.ts')).inspectCommand },
  { name: 'diagram', load: async () => (await import('./diagram-command.ts')).diagramCommand },
];
