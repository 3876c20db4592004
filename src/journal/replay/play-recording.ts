import { agentMachine } from '../../machines/agent/agent.ts';
import { type Move, moveReader, stateText } from '../../machines/events/transition-log.ts';
import { type Drive, drive, recordedOutput } from '../drive.ts';
import { type Playback, playback } from './playback.ts';
import type { Recording } from '../format/recording.ts';
import { ROOT_ID, inputOf } from '../format/run-input.ts';

/** A recording that was played to where it stops. */
export interface PlayedRecording {
  /** Still active when the recording stops before its run did. */
  readonly driven: Drive;
  readonly past: Playback;
}

/**
 * Plays a recording on the bare machines, without an agent's code, to its end or to where it stops. Throws a
 * `ReplayDivergenceError` where these machines would have gone another way.
 */
export function playRecording(recording: Recording, onMove?: (move: Move) => void): PlayedRecording {
  const state = (): string => (driven === null ? 'PLANNING' : stateText(driven.actor.getSnapshot().value));
  const past = playback(recording, state);
  const driven: Drive | null = drive({
    logic: agentMachine,
    id: ROOT_ID,
    input: inputOf(recording.head),
    journal: { open: past.open, close: past.close, next: () => Promise.resolve(past.next()), end: () => undefined },
    recorder: null,
    context: undefined,
    onNote: () => undefined,
    ...(onMove === undefined ? {} : { inspect: moveReader(() => true, onMove) }),
  });
  driven.start();
  while (driven.isActive()) {
    const entry = past.next();
    if (entry === null) break;
    driven.deliver(entry);
  }
  if (!driven.isActive()) past.end(recordedOutput(driven.actor.getSnapshot().output));
  return { driven, past };
}
