import { leaf } from './leaf.ts';

/** Keeps an "always allow" for later runs. */
export const rememberPermission = (ports: { readonly add: (tool: string, agent: string) => void | Promise<void> }) =>
  leaf<{ readonly tool: string; readonly agent: string }, null>(
    'rememberPermission',
    { effects: 'idempotent', request: ({ tool }) => ({ tool }) },
    async ({ tool, agent }) => {
      await ports.add(tool, agent);
      return null;
    },
  );
