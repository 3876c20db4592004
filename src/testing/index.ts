import '../platform.ts';
export { replay } from '../journal/replay/replay.ts';
export {
  assertCalledTool,
  assertEndsWith,
  assertOutput,
  assertTransitions,
  assertVisited,
  matchers,
} from './assertions.ts';
export { ExplorationError } from './explore/walk/exploration.ts';
export { canReach, explorePaths } from './explore/explore-paths.ts';
export { type PlayedBack, playBack } from './explore/findings.ts';
export { type FakeTool, fakeTool } from './fake-tool.ts';
export { forbidLiveModels } from '../models/endpoint/live-guard.ts';
export { hostileModel } from './hostile-model.ts';
export { RecordingMissError, UseRecordingError } from './recordings/runs-on-recordings.ts';
export { type ScriptedModel, type ScriptedReply, scriptedModel } from './scripted-model.ts';
export { useRecording } from './recordings/use-recording.ts';
export type { ActorMode, ActorModes, RecordMode } from './recordings/use-recording.ts';
export type { CallOptions } from './judges/checks.ts';
export type { RecordingSource, Subject } from './judges/evidence.ts';
export type { HostileModel, HostileModelOptions, MistakeMade, MistakeName } from './hostile-model.ts';
export type { ExpectedTransitions } from './judges/judge-path.ts';
export type { Matching } from './recordings/recorded-answers.ts';
export type { RecordedAgent, UseRecordingErrorCode } from './recordings/runs-on-recordings.ts';
export type { UseRecordingOptions, UsedRecording } from './recordings/use-recording.ts';
export type { Exploration, ExploredPath, OpenEffect, ToolRun, View, Violation } from './explore/walk/exploration.ts';
export type { Claims, ExploreOptions, ExploreProgress } from './explore/explore-options.ts';
export type { KnownTool, LeafScene, OutcomesOf, Representative } from './explore/outcomes/outcome.ts';
export type { Edge, MachineCoverage } from './coverage/edges.ts';
export { type SimulateOptions, simulate } from './simulate.ts';
export type { AgentMaker, SimulatedAgent, SimulatedFailure, Simulation } from './simulate/simulation.ts';
export type { CheckedRun } from './simulate/judge.ts';
export type { FaultName, Faults } from './simulate/simulated-faults.ts';
export type { SimulatedServers, SimulatedTool } from './simulate/simulated-servers.ts';
