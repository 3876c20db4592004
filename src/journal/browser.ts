// `signalbox/journal` in bundles for browsers and workers, by the condition `browser`: all of it that needs no disk.
import '../platform.ts';
export { ReplayDivergenceError } from './divergence.ts';
export { fork } from './fork.ts';
export { JournalError } from './journal-error.ts';
export { memoryJournal } from './memory.ts';
export { RecordingError } from './recording.ts';
export { replay } from './replay.ts';
export { transitions } from './transitions.ts';
