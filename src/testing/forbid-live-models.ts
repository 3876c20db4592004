import { banLiveModels } from '../models/endpoint/live-guard.ts';

/**
 * Forbids models that are really there, in this process and from now on: a `chatModel`, a preset by name or a discovered
 * model is not connected to, and its run ends as `llm-error` with the code `live-forbidden`. A recording that is being made
 * by `useRecording` is let through. Gives a function that lifts the ban. `SIGNALBOX_LIVE=never` in the environment does the
 * same for every process, recordings included.
 *
 * @example forbidLiveModels(); // in the setup file of the tests
 */
export function forbidLiveModels(): () => void {
  return banLiveModels();
}
