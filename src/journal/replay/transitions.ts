import type { Transition } from '../../machines/events/run-events.ts';
import { stateText } from '../../machines/events/transition-log.ts';
import { playRecording } from './play-recording.ts';
import { readRecording } from '../format/recording.ts';

/**
 * Every move that the machines of a recorded run made, in order, found by playing the recording back without the agent's
 * code. Throws a `ReplayDivergenceError` when this version of Signalbox would have gone another way.
 *
 * @example transitions(readFileSync('run.jsonl', 'utf8')).map(({ from, to }) => `${from} → ${to}`);
 */
export function transitions(recording: string | readonly (string | object)[]): readonly Transition[] {
  const list: Transition[] = [];
  const { driven, past } = playRecording(readRecording(recording), ({ transition }) => {
    if (transition !== null) list.push(transition);
  });
  if (driven.isActive()) throw past.cutShort(stateText(driven.actor.getSnapshot().value));
  return list;
}
