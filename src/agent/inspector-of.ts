import { describeThrown } from '../actors/to-json.ts';
import type { RunPort } from '../inspector/run-port.ts';

interface InspectorNews {
  /** The address of an inspector that the process starts by itself is not printed. */
  readonly silent: boolean;
  readonly onTrouble: (message: string) => void;
}

/**
 * The inspector that a run is shown on; null for none. One that cannot be started is a warning and no more: a run never
 * depends on being watched.
 */
export async function inspectorOf(
  asked: boolean | RunPort | Promise<RunPort> | undefined,
  { silent, onTrouble }: InspectorNews,
): Promise<RunPort | null> {
  if (asked === undefined || asked === false) return null;
  try {
    if (asked !== true) return await asked;
    // Loaded only now: an agent that is not inspected needs neither HTTP nor the page.
    const { ownInspector } = await import('../inspector/own-inspector.ts');
    return await ownInspector({ silent });
  } catch (error) {
    onTrouble(`The inspector could not be started: ${describeThrown(error).message}`);
    return null;
  }
}
