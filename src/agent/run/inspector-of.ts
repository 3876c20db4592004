import { describeThrown } from '../../json/to-json.ts';
import type { RunPort } from '../../inspector/run-port.ts';
import type { RunEventBody } from '../../machines/events/run-events.ts';
import type { AgentCore } from '../agent-core.ts';
import type { RunOptions } from './run-options.ts';

/**
 * The inspector that a run is shown on, and the agent's connections beside it; null for none. One that cannot be started is a warning and no more: a run never
 * depends on being watched.
 */
export async function inspectorOf(
  { options, mcp }: AgentCore,
  given: Pick<RunOptions, 'inspect'>,
  announce: (body: RunEventBody) => void,
): Promise<RunPort | null> {
  const { inspect: always, silent } = options();
  const { inspect: asked = always } = given;
  if (asked === undefined || asked === false) return null;
  try {
    const inspector = asked === true ? await own(silent === true) : await asked;
    mcp.showOn(inspector);
    return inspector;
  } catch (error) {
    announce({ type: 'warning', message: `The inspector could not be started: ${describeThrown(error).message}` });
    return null;
  }
}

/** Loaded only when it is asked for: an agent that is not inspected needs neither HTTP nor the page. */
async function own(silent: boolean): Promise<RunPort> {
  const { ownInspector } = await import('../../inspector/own-inspector.ts');
  return ownInspector({ silent });
}
