import type { OutputHandler } from './output-handler.ts';

/** An output that shows nothing. */
export function silentOutput(): OutputHandler {
  return {};
}
