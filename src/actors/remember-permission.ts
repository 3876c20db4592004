import type { ToolSpec } from '../tools/spec.ts';
import { leaf } from './leaf.ts';

/** Keeps an "always allow" for later runs, of a tool as it stood when it was asked about. */
export const rememberPermission = (ports: { readonly add: (tool: ToolSpec, agent: string) => void | Promise<void> }) =>
  leaf<{ readonly tool: ToolSpec | null; readonly agent: string }, null>(
    'rememberPermission',
    { effects: 'idempotent', request: ({ tool }) => ({ tool: tool?.name ?? '' }) },
    async ({ tool, agent }) => {
      if (tool !== null) await ports.add(tool, agent);
      return null;
    },
  );
