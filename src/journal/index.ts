import '../platform.ts';
export type { RunSummary, RunQuery } from './format/tally.ts';
export { ReplayDivergenceError } from './replay/divergence.ts';
export { LostAttempt } from './conformance/tested-engine.ts';
export {
  assertEngineConformance,
  assertJournalConformance,
  ConformanceError,
} from './conformance/assert-conformance.ts';
export { fileJournal } from './stores/file.ts';
export { fork } from './replay/fork.ts';
export { JournalError, RecordingError } from './format/journal-error.ts';
export { liveJournal } from './run/live-journal.ts';
export { memoryJournal } from './stores/memory.ts';
export { replay, transitions } from './replay/replay.ts';
export { sqliteJournal } from './stores/sqlite.ts';
export type { ConformanceReport, EngineConformanceOptions } from './conformance/assert-conformance.ts';
export type { JournalConformanceOptions } from './conformance/sample-run.ts';
export type { EngineBody, TestedEngine } from './conformance/tested-engine.ts';
export type { Divergence, DivergenceCause } from './replay/divergence.ts';
export type { ForkOptions, Forkable } from './replay/fork.ts';
export type { FileJournalOptions } from './stores/file.ts';
export type {
  BlobRecord,
  EndRecord,
  EventRecord,
  NoteRecord,
  OutcomeRecord,
  RecordLine,
  RestartRecord,
  RunRecord,
  StartRecord,
  TimerRecord,
} from './format/record.ts';
export type { Recording } from './format/recording.ts';
export type { RepairedRun } from './format/cut-recording.ts';
export type { ReplayOptions, ReplayPoint, Replayable } from './replay/replay.ts';
export type { AllowedDifference } from './replay/compare.ts';
export type { JournalErrorCode } from './format/journal-error.ts';
export type { MemoryJournalOptions } from './stores/memory.ts';
export type { PruneLimits } from './stores/prune-runs.ts';
export type {
  Carried,
  CarriedEffect,
  JournalStore,
  RunHead,
  RunJournal,
  RunSecrets,
  Sink,
  TakenRun,
  WholeStore,
} from './run/run-journal.ts';
export type {
  Effect,
  Entry,
  Journal,
  LeafError,
  Outcome,
  OutsideEvent,
  Perform,
  PerformIo,
} from '../actors/journal.ts';
export type { RunRequests } from './run/run-requests.ts';
export type { SqliteJournal, SqliteJournalOptions } from './stores/sqlite.ts';
