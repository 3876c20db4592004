import { existsSync } from 'node:fs';
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
  xstate: { title: 'h) loop on XState', load: async () => (await import('./xstate-loop.ts')).xstateLoop },
  'signalbox-telemetry': {
    title: 'j) Signalbox, OpenTelemetry',
    load: async () => (await import('./signalbox-telemetry-agent.ts')).signalboxTelemetryAgent,
  },
  'agent-kit': { title: 'i) AgentKit', load: async () => (await import('./agent-kit.ts')).agentKit() },
} as const satisfies Record<string, { readonly title: string; readonly load: () => Promise<Contender> }>;

export type ContenderName = keyof typeof CONTENDERS;

/** Those that every table has, in order: the floor, the peers, and ours over both transports. */
const USUAL: readonly ContenderName[] = ['node-http', 'openai', 'xstate', 'ai-sdk', 'signalbox', 'signalbox-direct'];

const REST: readonly ContenderName[] = ['openai-lean', 'signalbox-file', 'signalbox-telemetry', 'agent-kit'];

/** With `--all`, everybody; AgentKit where it is installed. */
export const isAll = process.argv.includes('--all');

/** The names of those that take part. */
export const NAMES: readonly ContenderName[] = isAll
  ? [...USUAL, ...REST.filter((name) => name !== 'agent-kit' || isAgentKitHere())]
  : USUAL;

function isAgentKitHere(): boolean {
  return existsSync(new URL('../peers/node_modules/@inngest/agent-kit', import.meta.url));
}

/** Loads the contender of that name. Throws when there is none. */
export async function loadContender(name: string | undefined): Promise<Contender> {
  const names = [...USUAL, ...REST];
  const known = names.find((one) => one === name);
  if (known === undefined) throw new Error(`There is no contender '${String(name)}'; there are ${names.join(', ')}.`);
  return CONTENDERS[known].load();
}
