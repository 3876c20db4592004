import { leaf } from './leaf.ts';

/** Keeps an "always allow" for later runs. */
export const rememberPermission = (ports: { readonly add: (tool: string) => void | Promise<void> }) =>
  leaf<{ readonly tool: string }, null>('rememberPermission', 'idempotent', async ({ tool }) => {
    await ports.add(tool);
    return null;
  });
