import '../platform.ts';
export { ReplayDivergenceError } from './divergence.ts';
export { fileJournal } from './file.ts';
export { fork } from './fork.ts';
export { JournalError } from './journal-error.ts';
export { memoryJournal } from './memory.ts';
export { RecordingError } from './recording.ts';
export { replay } from './replay.ts';
export { sqliteJournal } from './sqlite.ts';
export { transitions } from './transitions.ts';
export type { Divergence } from './divergence.ts';
export type { ForkOptions, Forkable } from './fork.ts';
export type { DivergenceCause } from './likely-cause.ts';
export type { FileJournalOptions } from './file.ts';
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
} from './record.ts';
export type { Recording } from './recording.ts';
export type { RepairedRun } from './repair.ts';
export type { ReplayOptions, ReplayPoint, Replayable } from './replay.ts';
export type { AllowedDifference } from './tolerance.ts';
export type { JournalErrorCode } from './journal-error.ts';
export type { MemoryJournalOptions } from './memory.ts';
export type { PruneLimits } from './prune-runs.ts';
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
export type { SqliteJournalOptions } from './sqlite.ts';
