import { describeThrown } from '../actors/to-json.ts';
import type { RunPort } from '../inspector/run-port.ts';
import type { RunEventBody } from '../machines/run-events.ts';
import type { AgentOptions } from './options.ts';
import type { RunOptions } from './run-options.ts';

/**
 * The inspector that a run is shown on; null for none. One that cannot be started is a warning and no more: a run never
 * depends on being watched.
 */
export async function inspectorOf(
  { inspect: always, silent }: AgentOptions,
  { inspect: asked = always }: RunOptions,
  announce: (body: RunEventBody) => void,
): Promise<RunPort | null> {
  if (asked === undefined || asked === false) return null;
  try {
    if (asked !== true) return await asked;
    // Loaded only now: an agent that is not inspected needs neither HTTP nor the page.
    const { ownInspector } = await import('../inspector/own-inspector.ts');
    return await ownInspector({ silent: silent === true });
  } catch (error) {
    announce({ type: 'warning', message: `The inspector could not be started: ${describeThrown(error).message}` });
    return null;
  }
}
