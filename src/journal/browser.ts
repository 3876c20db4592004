// `signalbox/journal` in bundles for browsers and workers, by the condition `browser`: all of it that needs no disk.
import '../platform.ts';
export { ReplayDivergenceError } from './replay/divergence.ts';
export { fork } from './replay/fork.ts';
export { JournalError, RecordingError } from './format/journal-error.ts';
export { liveJournal } from './run/live-journal.ts';
export { memoryJournal } from './stores/memory.ts';
export { replay, transitions } from './replay/replay.ts';
