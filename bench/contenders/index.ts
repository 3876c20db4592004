import type { Contender } from '../harness/job.ts';

/** Everybody who takes part, in the order of the tables; each is loaded in its own process, when it is its turn. */
export const CONTENDERS = {
  'node-http': { title: 'a) loop on node:http', load: async () => (await import('./node-http-loop.ts')).nodeHttpLoop },
  openai: { title: 'b) loop on openai', load: async () => (await import('./openai-loop.ts')).openaiLoop() },
  'openai-lean': {
    title: 'c) loop on openai, lean fetch',
    load: async () => (await import('./lean-openai-loop.ts')).leanOpenaiLoop,
  },
  signalbox: { title: 'd) Signalbox', load: async () => (await import('./signalbox-agent.ts')).signalboxAgent() },
  'signalbox-file': {
    title: 'e) Signalbox, file journal',
    load: async () => (await import('./signalbox-file-agent.ts')).signalboxFileAgent,
  },
  'ai-sdk': { title: 'f) Vercel AI SDK', load: async () => (await import('./ai-sdk-agent.ts')).aiSdkAgent },
  'signalbox-direct': {
    title: 'g) Signalbox, direct',
    load: async () => (await import('./signalbox-agent.ts')).signalboxAgent({}, { transport: 'direct' }),
  },
} as const satisfies Record<string, { readonly title: string; readonly load: () => Promise<Contender> }>;

export type ContenderName = keyof typeof CONTENDERS;

/** The names, in order. */
export const NAMES = [
  'node-http',
  'openai',
  'openai-lean',
  'signalbox',
  'signalbox-file',
  'ai-sdk',
  'signalbox-direct',
] as const satisfies readonly ContenderName[];

/** Loads the contender of that name. Throws when there is none. */
export async function loadContender(name: string | undefined): Promise<Contender> {
  const known = NAMES.find((one) => one === name);
  if (known === undefined) throw new Error(`There is no contender '${String(name)}'; there are ${NAMES.join(', ')}.`);
  return CONTENDERS[known].load();
}
