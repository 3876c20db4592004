import { setImmediate as nextTick } from 'node:timers/promises';
import type { Dial, LinkIo, McpLink } from '../../../src/mcp/wire/link.ts';
import { LinkFault } from '../../../src/mcp/wire/faults.ts';

/** One request that reached a scripted server, waiting to be answered by the test. */
export interface Arrived {
  readonly tool: string;
  readonly call: unknown;
  readonly generation: number;
  readonly answer: () => void;
  /** Tells that it is at work. */
  readonly progress: () => void;
  readonly fail: (fault: LinkFault) => void;
}

/** A world of servers that do what a test tells them, behind the same port as the real client. */
export interface ScriptedWorld {
  readonly dial: Dial;
  readonly arrived: Arrived[];
  /** How many links were open at once, at most. */
  readonly mostOpen: () => number;
  readonly open: () => readonly LinkIo[];
  refuse(kind: LinkFault['kind'] | null): void;
  /** Links that are made from now on do not list this tool. */
  unlist(tool: string): void;
  /** Pings get no answer any more. */
  silence(): void;
}

/** Ending a link takes its time: a new one must wait for it. */
const CLOSING_TICKS = 2;
/** So does making one: meanwhile it may have been given up. */
const DIALLING_TICKS = 2;

const TOOLS = [
  { name: 'read', inputSchema: true, annotations: { readOnlyHint: true } },
  { name: 'put', inputSchema: true, annotations: { idempotentHint: true } },
  { name: 'act', inputSchema: true },
  { name: 'pay', inputSchema: true, annotations: { destructiveHint: true } },
];

/** Makes a world in which every request waits for the test, and every link can be broken. */
export function scriptedWorld(): ScriptedWorld {
  const arrived: Arrived[] = [];
  const open = new Map<number, LinkIo>();
  let most = 0;
  let dialled = 0;
  let silent = false;
  const unlisted = new Set<string>();
  let refusing: LinkFault['kind'] | null = null;

  const dial: Dial = async (_server, _target, io) => {
    for (let at = 0; at < DIALLING_TICKS; at += 1) await nextTick();
    if (refusing !== null) throw new LinkFault(refusing, 'refused by the test', { delivered: false });
    dialled += 1;
    const generation = dialled;
    open.set(generation, io);
    most = Math.max(most, open.size);
    const link: McpLink = {
      info: { title: 'scripted', version: '1', protocolVersion: '1', capabilities: { tools: {} }, transport: 'stdio' },
      listTools: () => Promise.resolve(TOOLS.filter(({ name }) => !unlisted.has(name))),
      ping: ({ signal }) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(new LinkFault('aborted', 'given up', { delivered: true })));
          if (!silent) resolve();
        }),
      request: () => Promise.resolve({}),
      notify: () => Promise.resolve(),
      callTool: (tool, args, { signal, onProgress }) =>
        new Promise((resolve, reject) => {
          const fail = (fault: LinkFault): void => reject(fault);
          signal.addEventListener('abort', () => fail(new LinkFault('aborted', 'given up', { delivered: true })));
          const answer = (): void => resolve({ content: [{ type: 'text', text: tool }] });
          const progress = (): void => onProgress?.({ progress: 1 });
          arrived.push({ tool, call: args.call, generation, answer, progress, fail });
        }),
      async close() {
        for (let at = 0; at < CLOSING_TICKS; at += 1) await nextTick();
        open.delete(generation);
      },
    };
    return link;
  };
  return {
    dial,
    arrived,
    mostOpen: () => most,
    open: () => [...open.values()],
    refuse: (kind) => void (refusing = kind),
    unlist: (tool) => void unlisted.add(tool),
    silence: () => void (silent = true),
  };
}
