/**
 * Owns: the links of one connection, by generation: making, using and ending them. Does not own: when that happens.
 *
 * I1 A new link is made only when the older ones have ended: at most one lives.
 * I2 What was started for an abandoned attempt is ended.
 */
import {
  type McpGeneration,
  type McpGreeting,
  connectMcp,
  listMcpTools,
  pingMcp,
} from '../../actors/mcp/connect-mcp.ts';
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

/** What links need and report. */
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

/** The links of one connection, none at first; the three ports of its machine. */
export class Links {
  readonly #options: LinksOptions;
  readonly #links = new Map<number, McpLink>();
  /** All that may still hold a process: links that are ending, and attempts that may have been abandoned. */
  readonly #ending = new Set<Promise<unknown>>();

  constructor(options: LinksOptions) {
    this.#options = options;
  }

  connect({ generation }: McpGeneration, signal: AbortSignal): Promise<McpGreeting> {
    const { server } = this.#options;
    const before = [...this.#ending];
    const attempt = this.#within(signal, async (limited) => {
      await Promise.all(before);
      if (limited.aborted) throw givenUp(server.name);
      const dial = this.#options.dial ?? (await import('./dial.ts')).dialWithSdk;
      const link = await dial(server.name, server.target, this.#ioOf(generation, limited));
      if (limited.aborted) {
        await link.close('at-once');
        throw givenUp(server.name);
      }
      this.#links.set(generation, link);
      return link.info;
    });
    this.#track(attempt);
    return attempt;
  }

  listTools({ generation }: McpGeneration, signal: AbortSignal): Promise<readonly McpTool[]> {
    return this.#within(signal, async (limited) => {
      const listed = await this.#existing(generation).listTools({ signal: limited });
      return listed.filter(({ name }) => this.#isWanted(name));
    });
  }

  async ping({ generation }: McpGeneration, signal: AbortSignal): Promise<'alive' | 'busy'> {
    const { server, clock, isBusy } = this.#options;
    const limit = limitTime(clock, PING_MS, signal);
    try {
      await this.#existing(generation).ping({ signal: limit.signal });
      return 'alive';
    } catch (thrown) {
      if (limit.isOver() && isBusy(generation)) return 'busy';
      throw limit.isOver() ? silent(server.name) : toMcpError(server.name, thrown);
    } finally {
      limit.release();
    }
  }

  find(generation: number): McpLink | null {
    return this.#links.get(generation) ?? null;
  }

  /** Ends all links but one (`keep`, or none). Each is first given to `before`, which may wait for what it still brings. */
  retire(
    keep: number | null,
    how: 'gently' | 'at-once',
    before: (generation: number, link: McpLink) => Promise<void>,
  ): void {
    for (const [generation, link] of this.#links) {
      if (generation === keep) continue;
      this.#links.delete(generation);
      this.#track(before(generation, link).then(() => link.close(how)));
    }
  }

  /** Resolves when all that was retired has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#ending);
  }

  /** Does work on a link within the time to connect; whatever goes wrong becomes an {@link McpError}. */
  async #within<T>(outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { server, clock } = this.#options;
    const ms = server.settings.connectTimeoutMs;
    const limit = limitTime(clock, ms, outer);
    try {
      return await work(limit.signal);
    } catch (thrown) {
      throw limit.isOver() ? connectTimeout(server.name, ms, thrown) : toMcpError(server.name, thrown);
    } finally {
      limit.release();
    }
  }

  #existing(generation: number): McpLink {
    const { name } = this.#options.server;
    const link = this.#links.get(generation);
    if (link === undefined) throw new McpError('not-connected', name, `MCP server '${name}' is not connected.`);
    return link;
  }

  #ioOf(generation: number, signal: AbortSignal): LinkIo {
    const { clock, limits, authorize, onWarning, onNotification, ...options } = this.#options;
    return {
      signal,
      clock,
      limits,
      isWanted: (name) => this.#isWanted(name),
      answers: options.answers(generation),
      authorize,
      onDown: (fault) => options.onDown(generation, fault),
      onDoubt: () => options.onDoubt(generation),
      onListChanged: (list) => options.onListChanged(generation, list),
      onWarning,
      onNotification,
    };
  }

  #isWanted(name: string): boolean {
    const { tools, exclude } = this.#options.server.settings;
    return (tools === undefined || tools.includes(name)) && !exclude.includes(name);
  }

  #track(work: Promise<unknown>): void {
    const end: Promise<unknown> = work.catch(() => undefined).finally(() => this.#ending.delete(end));
    this.#ending.add(end);
  }
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
