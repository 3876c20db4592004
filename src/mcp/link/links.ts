/**
 * Owns: the links of one connection, by generation: making, using and ending them. Does not own: when that happens.
 *
 * I1 A new link is made only when the older ones have ended: at most one lives.
 * I2 What was started for an attempt that was given up is ended.
 */
import { type McpGeneration, type McpGreeting, connectMcp } from '../../actors/mcp/connect-mcp.ts';
import { McpError, type McpTool } from '../../actors/mcp/mcp-calls.ts';
import {
  type Dial,
  type LinkIo,
  type McpClock,
  type McpLink,
  type McpList,
  type ProtocolWarning,
  limitTime,
} from '../wire/link.ts';
import type { McpServer } from '../config/config.ts';
import type { McpLimits } from '../config/server-limits.ts';
import type { McpAnswers } from '../config/answers.ts';
import { type LinkFault, connectTimeout, toMcpError } from '../wire/faults.ts';
import { listMcpTools } from '../../actors/mcp/list-mcp-tools.ts';
import { pingMcp } from '../../actors/mcp/ping-mcp.ts';

/** The links of one connection; the three ports of its machine. */
interface Links {
  connect(link: McpGeneration, signal: AbortSignal): Promise<McpGreeting>;
  listTools(link: McpGeneration, signal: AbortSignal): Promise<readonly McpTool[]>;
  ping(link: McpGeneration, signal: AbortSignal): Promise<'alive' | 'busy'>;
  find(generation: number): McpLink | null;
  /** Ends all links but one (`keep`, or none). Each is first given to `before`, which may wait for what it still brings. */
  retire(
    keep: number | null,
    how: 'gently' | 'at-once',
    before: (generation: number, link: McpLink) => Promise<void>,
  ): void;
  /** Resolves when all that was retired has ended. */
  ended(): Promise<void>;
}

/** What links need and tell. */
interface LinksOptions {
  readonly server: McpServer;
  readonly dial: Dial | null;
  readonly clock: McpClock;
  readonly limits: McpLimits;
  readonly answers: (generation: number) => McpAnswers;
  readonly authorize: LinkIo['authorize'];
  readonly isBusy: (generation: number) => boolean;
  readonly onDown: (generation: number, fault: LinkFault) => void;
  readonly onDoubt: (generation: number) => void;
  readonly onListChanged: (generation: number, list: McpList) => void;
  readonly onWarning: (warning: ProtocolWarning) => void;
  readonly onNotification: LinkIo['onNotification'];
}

const PING_MS = 2500;

/** Makes the set of links of one connection; it is empty at first. */
export function createLinks(options: LinksOptions): Links {
  const { server, clock } = options;
  const { connectTimeoutMs, tools, exclude } = server.settings;
  const links = new Map<number, McpLink>();
  /** All that may still hold a process: links that end, and attempts that may have been given up. */
  const ending = new Set<Promise<unknown>>();
  const track = (work: Promise<unknown>): void => {
    const end: Promise<unknown> = work.catch(() => undefined).finally(() => ending.delete(end));
    ending.add(end);
  };
  const isWanted = (name: string): boolean => (tools === undefined || tools.includes(name)) && !exclude.includes(name);

  /** Does work on a link within a time; whatever goes wrong becomes an {@link McpError}. */
  const within = async <T>(ms: number, outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const limit = limitTime(clock, ms, outer);
    try {
      return await work(limit.signal);
    } catch (thrown) {
      throw limit.isOver() ? connectTimeout(server.name, ms, thrown) : toMcpError(server.name, thrown);
    } finally {
      limit.release();
    }
  };
  const existing = (generation: number): McpLink => {
    const link = links.get(generation);
    if (link === undefined)
      throw new McpError('not-connected', server.name, `MCP server '${server.name}' is not connected.`);
    return link;
  };
  const ioOf = (generation: number, signal: AbortSignal): LinkIo => ({
    signal,
    clock,
    limits: options.limits,
    isWanted,
    answers: options.answers(generation),
    authorize: options.authorize,
    onDown: (fault) => options.onDown(generation, fault),
    onDoubt: () => options.onDoubt(generation),
    onListChanged: (list) => options.onListChanged(generation, list),
    onWarning: options.onWarning,
    onNotification: options.onNotification,
  });

  return {
    connect({ generation }, signal) {
      const before = [...ending];
      const attempt = within(connectTimeoutMs, signal, async (limited) => {
        await Promise.all(before);
        if (limited.aborted) throw givenUp(server.name);
        const dial = options.dial ?? (await import('./sdk-link.ts')).dialWithSdk;
        const link = await dial(server.name, server.target, ioOf(generation, limited));
        if (limited.aborted) {
          await link.close('at-once');
          throw givenUp(server.name);
        }
        links.set(generation, link);
        return link.info;
      });
      track(attempt);
      return attempt;
    },
    listTools: ({ generation }, signal) =>
      within(connectTimeoutMs, signal, async (limited) => {
        const listed = await existing(generation).listTools({ signal: limited });
        return listed.filter(({ name }) => isWanted(name));
      }),
    async ping({ generation }, signal) {
      const limit = limitTime(clock, PING_MS, signal);
      try {
        await existing(generation).ping({ signal: limit.signal });
        return 'alive';
      } catch (thrown) {
        if (limit.isOver() && options.isBusy(generation)) return 'busy';
        throw limit.isOver() ? silent(server.name) : toMcpError(server.name, thrown);
      } finally {
        limit.release();
      }
    },
    find: (generation) => links.get(generation) ?? null,
    retire(keep, how, before) {
      for (const [generation, link] of links) {
        if (generation === keep) continue;
        links.delete(generation);
        track(before(generation, link).then(() => link.close(how)));
      }
    },
    async ended() {
      await Promise.all(ending);
    },
  };
}

/** The leaves of the machine that connect, list and ping. */
export function linkLeaves(links: Links) {
  return { connectMcp: connectMcp(links), listMcpTools: listMcpTools(links), pingMcp: pingMcp(links) };
}

function givenUp(server: string): McpError {
  return new McpError('cancelled', server, `Connecting to MCP server '${server}' was given up.`);
}

function silent(server: string): McpError {
  return new McpError(
    'timeout',
    server,
    `MCP server '${server}' does not answer any more, not even a ping within ${PING_MS / 1000} s.`,
  );
}
