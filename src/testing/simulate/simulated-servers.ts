/**
 * Owns: the MCP servers of one simulated run, behind the real connections: what they answer, and how they fail.
 * Does not own: what a connection does then (the connection's), when time passes (the simulated run's).
 *
 * I1 What a server has carried out is counted, also where nobody learns of it.
 * I2 A server of a process that has ended says nothing any more.
 */
import type { McpToolAnnotations } from '../../actors/mcp/mcp-calls.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';
import type { createMcpConnection } from '../../mcp/create-connection.ts';
import type { McpConnection } from '../../mcp/connection-types.ts';
import { LinkFault, type LinkFaultKind } from '../../mcp/wire/faults.ts';
import type { Dial, LinkIo, McpLink } from '../../mcp/wire/link.ts';
import { PendingRequests, type Wire, type WireMessage, type WireTransport } from '../../mcp/wire/pending-requests.ts';
import { textAt } from '../explore/walk/story.ts';
import type { Draws } from './draws.ts';
import type { FaultName, FaultRates } from './simulated-faults.ts';

/** A tool of a simulated MCP server. */
export interface SimulatedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: JsonObject;
  /** What it says of itself: without a hint it is taken to be destructive. */
  readonly annotations?: McpToolAnnotations;
  /** What it answers. Default: its arguments. */
  readonly answer?: (args: JsonObject) => Json;
}

/** MCP servers by name, with their tools. */
export interface SimulatedServers {
  readonly [server: string]: readonly SimulatedTool[];
}

interface WorldOptions {
  readonly servers: SimulatedServers;
  readonly draws: Draws;
  readonly rates: FaultRates;
  readonly make: typeof createMcpConnection;
  readonly link: (server: string, wire: Wire<WireTransport>, io: LinkIo) => Promise<McpLink>;
}

/** The servers of a run. */
export class ServerWorld {
  /** How often each tool was carried out, by `server tool`. */
  readonly carriedOut = new Map<string, number>();
  readonly #options: WorldOptions;
  #open: McpConnection[] = [];
  #life = 0;
  #dials = 0;
  #calls = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
  }

  /** Whether a tool of the agent is one of theirs. */
  offers(tool: string): boolean {
    const servers = Object.entries(this.#options.servers);
    return servers.some(([server, tools]) => tools.some(({ name }) => tool === `${server}_${name}`));
  }

  /** Connections for a new process; those of the one before are dead. */
  connect(): Readonly<Record<string, McpConnection>> {
    const { servers, make } = this.#options;
    this.#life++;
    const born = this.#life;
    const made = Object.entries(servers).map(([name, tools]) => {
      const dial: Dial = async (_server, _target, io) =>
        this.#dial({ name, tools, io, isDead: () => born !== this.#life });
      return [name, make(name, { command: 'simulated' }, { dial, seed: 1, offersLogin: false })] as const;
    });
    this.#open = made.map(([, connection]) => connection);
    return Object.fromEntries(made);
  }

  /** Ends the connections. */
  close(): void {
    for (const connection of this.#open) void connection.disconnect();
  }

  #dial({ name, tools, io, isDead }: Dialled): Promise<McpLink> {
    const place = `${name} ${++this.#dials}`;
    if (this.#happens('mcp.refuse', place, 'refuses the connection'))
      throw new LinkFault('unreachable', 'refused (simulated)', { delivered: false });
    const wire = new SimulatedWire({
      tools,
      io,
      isDead,
      carryOut: (tool) => this.#carriedOut(`${name} ${tool}`),
      fault: () => {
        const at = `${name} ${++this.#calls}`;
        return CALL_FAULTS.find(([fault, says]) => this.#happens(fault, at, says))?.[0] ?? null;
      },
      isCarriedOut: () => this.#options.draws.below(`carried ${name} ${this.#calls}`, 2) === 1,
    });
    return this.#options.link(name, wire, io);
  }

  #carriedOut(tool: string): void {
    this.carriedOut.set(tool, (this.carriedOut.get(tool) ?? 0) + 1);
  }

  #happens(fault: FaultName, place: string, says: string): boolean {
    return this.#options.draws.happens(fault, place, this.#options.rates[fault], `server ${place}: ${says}`);
  }
}

interface Dialled {
  readonly name: string;
  readonly tools: readonly SimulatedTool[];
  readonly io: LinkIo;
  readonly isDead: () => boolean;
}

const CALL_FAULTS: readonly (readonly [FaultName, string])[] = [
  ['mcp.before', 'dies before the call is sent'],
  ['mcp.during', 'dies during the call'],
  ['mcp.after', 'dies after the answer'],
  ['mcp.session', 'does not know the session any more (404)'],
  ['mcp.silent', 'does not answer'],
  ['mcp.error', 'answers with an error of the protocol'],
  ['mcp.list', 'its list of tools changes'],
  ['mcp.duplicate', 'answers twice'],
];

interface WireOptions extends Omit<Dialled, 'name'> {
  readonly carryOut: (tool: string) => void;
  /** Draws what goes wrong with a call. */
  readonly fault: () => FaultName | null;
  /** Whether a server that dies in the middle of a call has carried it out. */
  readonly isCarriedOut: () => boolean;
}

/** JSON-RPC with one server: what it is sent, and what it says. */
class SimulatedWire implements Wire<WireTransport> {
  readonly kind = 'stdio';
  readonly requests: PendingRequests;
  readonly transport: WireTransport = {
    start: () => Promise.resolve(),
    send: (message) => this.#sent(message),
    close: () => Promise.resolve(),
  };
  readonly #options: WireOptions;
  #fault: LinkFault | null = null;
  #hidden: string | undefined;

  constructor(options: WireOptions) {
    this.#options = options;
    this.requests = new PendingRequests(options.io.clock);
  }

  readonly dead = (): LinkFault | null =>
    this.#options.isDead() ? new LinkFault('exited', 'dead (simulated)', { delivered: false }) : this.#fault;

  readonly evidence = (): JsonObject => ({});

  readonly end = async (): Promise<void> => {
    this.#fault ??= new LinkFault('exited', 'closed (simulated)', { delivered: false });
  };

  async #sent(message: WireMessage): Promise<void> {
    const request = this.requests.sent(message);
    if (request === null) return;
    const refuse = (kind: LinkFaultKind): never => {
      request.delivered = false;
      throw new LinkFault(kind, `${kind} (simulated)`, { delivered: false });
    };
    if (this.dead() !== null) refuse('exited');
    const { id, method, params } = message;
    if (method !== 'tools/call' || !isJsonObject(params)) return this.#say({ id, result: this.#known(method) });
    const tool = textAt(params, 'name');
    const answer = (): void => {
      this.#options.carryOut(tool);
      const args = isJsonObject(params.arguments) ? params.arguments : {};
      const said = this.#options.tools.find(({ name }) => name === tool)?.answer?.(args) ?? args;
      this.#say({ id, result: textResult(typeof said === 'string' ? said : JSON.stringify(said)) });
    };
    const fault = this.#options.fault();
    switch (fault) {
      case 'mcp.before':
        this.#die();
        return refuse('exited');
      case 'mcp.during':
        if (this.#options.isCarriedOut()) this.#options.carryOut(tool);
        return this.#die();
      case 'mcp.after':
        answer();
        return queueMicrotask(() => this.#die());
      case 'mcp.session':
        return refuse('session');
      case 'mcp.silent':
        return;
      case 'mcp.error':
        return this.#say({ id, error: { code: -32_000, message: 'no (simulated)' } });
      case 'mcp.list':
        this.#hidden = this.#hidden === undefined ? this.#options.tools.at(-1)?.name : undefined;
        answer();
        return this.#say({ method: 'notifications/tools/list_changed' });
      default:
        answer();
        if (fault === 'mcp.duplicate') this.#say({ id, result: textResult('a second answer (simulated)') });
    }
  }

  /** What it answers to all else that it is asked. */
  #known(method: unknown): JsonObject {
    if (method === 'initialize') return GREETING;
    if (method !== 'tools/list') return {};
    const tools = this.#options.tools.filter(({ name }) => name !== this.#hidden);
    const listed = tools.map(({ answer: _answer, ...tool }) => ({ inputSchema: { type: 'object' }, ...tool }));
    const json = toJson({ tools: listed });
    return json.ok && isJsonObject(json.value) ? json.value : {};
  }

  #say(message: WireMessage): void {
    queueMicrotask(() => {
      const said = { jsonrpc: '2.0', ...message };
      if (!this.requests.refused(said) && !this.requests.received(said)) this.transport.onmessage?.(said);
    });
  }

  /** The process of the server ends: what was under way is lost. */
  #die(): void {
    this.#fault = new LinkFault('exited', 'the server has ended (simulated)', { delivered: true });
    for (const request of this.requests.open()) request.lose(this.#fault);
    if (!this.#options.isDead()) this.#options.io.onDown(this.#fault);
  }
}

const GREETING: JsonObject = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'simulated', version: '1' },
};

const textResult = (text: string): JsonObject => ({ content: [{ type: 'text', text }] });
