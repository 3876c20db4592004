import '../platform.ts';
export { ReplayDivergenceError } from './replay/divergence.ts';
export { fileJournal } from './stores/file.ts';
export { fork } from './replay/fork.ts';
export { JournalError } from './format/journal-error.ts';
export { memoryJournal } from './stores/memory.ts';
export { RecordingError } from './format/recording.ts';
export { replay } from './replay/replay.ts';
export { sqliteJournal } from './stores/sqlite.ts';
export { transitions } from './replay/transitions.ts';
export type { Divergence } from './replay/divergence.ts';
export type { ForkOptions, Forkable } from './replay/fork.ts';
export type { DivergenceCause } from './replay/likely-cause.ts';
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
export type { RepairedRun } from './format/repair.ts';
export type { ReplayOptions, ReplayPoint, Replayable } from './replay/replay.ts';
export type { AllowedDifference } from './replay/tolerance.ts';
export type { JournalErrorCode } from './format/journal-error.ts';
export type { MemoryJournalOptions } from './stores/memory.ts';
export type { PruneLimits } from './stores/prune-runs.ts';
export type {
  Carried,
  CarriedEffect,
  JournalStore,
  RunHead,
  RunJournal,
  RunQuery,
  RunSecrets,
  RunSummary,
  TakenRun,
} from './run-journal.ts';
export type { SqliteJournalOptions } from './stores/sqlite.ts';
