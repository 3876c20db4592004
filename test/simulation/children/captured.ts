// What examples import as `signalbox` while they are simulated: their agents are kept, and do nothing.
import { type AgentOptions, createAgent as create } from '../../../src/index.ts';

export * from '../../../src/index.ts';

/** Thrown where an example would run its agent. */
export class Captured extends Error {
  override readonly name = 'Captured';
}

/** The options of the agents that were made, oldest first. */
export const captured: { readonly agent: object; readonly options: AgentOptions }[] = [];

export function createAgent(options: AgentOptions): object {
  const agent = create({ ...options, silent: true, inspect: false });
  const stop = (): never => {
    throw new Captured();
  };
  const idle = Object.assign(agent, { run: stop, connectMcpServer: stop });
  captured.push({ agent: idle, options });
  return idle;
}
