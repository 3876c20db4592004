import { readFileSync } from 'node:fs';

/** One subpath of the contract's export table. `late` is promised for a later landing; `lateAltogether`: the subpath too. */
export interface Promised {
  readonly subpath: string;
  readonly names: readonly string[];
  readonly late: readonly string[];
  readonly lateAltogether?: true;
}

/** The values that the package promises, by subpath. A name moves from `late` to `names` in the change that adds it. */
export const promised: readonly Promised[] = [
  {
    subpath: '.',
    names: [
      'createAgent',
      'tool',
      'skill',
      'recover',
      'createToolRegistry',
      'consoleOutput',
      'silentOutput',
      'AGENT_STATES',
      'AgentBusyError',
      'AgentClosedError',
      'ResumeError',
      'RunError',
      'ToolExecutionError',
      'ReplayDivergenceError',
    ],
    late: [],
  },
  {
    subpath: './machines',
    names: [
      'agentMachine',
      'llmCallMachine',
      'toolCallMachine',
      'loopDetectionMachine',
      'mcpConnectionMachine',
      'mcpCallMachine',
      'mcpTaskMachine',
      'observeRun',
    ],
    late: [],
  },
  {
    subpath: './parsing',
    names: ['parseReply', 'recoverJson', 'recoverArguments', 'createReplyStream'],
    late: [],
  },
  { subpath: './ui', names: ['uiStream', 'agUi', 'chatTransport', 'runStream'], late: [] },
  {
    subpath: './security',
    names: ['permissionStore', 'validatePath', 'isSafeShellArg', 'terminalConfirm'],
    late: [],
  },
  { subpath: './store', names: ['runStore', 'foldEvent', 'NO_EVENTS'], late: [] },
  { subpath: './react', names: ['useRun', 'runStore'], late: [] },
  { subpath: './mcp', names: ['createMcpConnection', 'policyFromAnnotations', 'terminalElicit'], late: [] },
  { subpath: './models', names: ['chatModel'], late: [] },
  {
    subpath: './journal',
    names: [
      'fileJournal',
      'sqliteJournal',
      'memoryJournal',
      'assertJournalConformance',
      'replay',
      'fork',
      'transitions',
    ],
    late: [],
  },
  { subpath: './journal/postgres', names: ['postgresJournal', 'migratePostgres'], late: [] },
  {
    subpath: './testing',
    names: [
      'explorePaths',
      'canReach',
      'ExplorationError',
      'playBack',
      'scriptedModel',
      'replay',
      'useRecording',
      'fakeTool',
      'hostileModel',
      'forbidLiveModels',
      'matchers',
      'assertVisited',
      'assertCalledTool',
      'assertEndsWith',
      'assertTransitions',
      'RecordingMissError',
      'UseRecordingError',
    ],
    late: [],
  },
  { subpath: './testing/vitest', names: [], late: [] },
  { subpath: './testing/jest', names: [], late: [] },
  {
    subpath: './inspector',
    names: ['createInspector', 'toResponse', 'statelyOutput', 'MissingPackageError'],
    late: [],
  },
  { subpath: './testing/coverage', names: ['default'], late: [] },
  { subpath: './telemetry', names: ['openTelemetry'], late: [] },
  { subpath: './restate', names: ['restateAgent', 'restateClient', 'restateJournal'], late: [] },
];

/** The subpaths of package.json and the sources that they are built from. */
export function exportedSources(): ReadonlyMap<string, URL> {
  const root = new URL('../../', import.meta.url);
  const { exports }: { readonly exports: Readonly<Record<string, string | { readonly default: string }>> } = JSON.parse(
    readFileSync(new URL('package.json', root), 'utf8'),
  );
  return new Map(
    Object.entries(exports).flatMap(([subpath, target]): readonly (readonly [string, URL])[] =>
      typeof target === 'string'
        ? []
        : [[subpath, new URL(target.default.replace('./dist/', './src/').replace(/\.js$/, '.ts'), root)]],
    ),
  );
}
