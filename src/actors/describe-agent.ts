import { leaf } from './leaf.ts';

/**
 * Tells a machine that was started without a setup what agent it is: tools, instructions, settings. Only a bare machine
 * in somebody's own actor system asks; a run has it from its recording's first line.
 */
export const describeAgent = <TSetup>(ports: { readonly setup: (signal: AbortSignal) => Promise<TSetup> }) =>
  leaf<null, TSetup>('describeAgent', 'none', (_input, { signal }) => ports.setup(signal));
