/**
 * Owns: the MCP servers of one simulated run, behind the real connections: what they answer, and how they fail.
 * Does not own: what a connection does then (the connection's), when time passes (the simulated run's).
 *
 * I1 What a server has carried out is counted, also where nobody learns of it.
 * I2 A server of a process that has ended says nothing any more.
 */
import type { McpToolAnnotations } from '../../actors/mcp/mcp-calls.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import type { createMcpConnection } from '../../mcp/create-connection.ts';
import type { McpConnection } from '../../mcp/connection-types.ts';
import { LinkFault, type LinkFaultKind } from '../../mcp/wire/faults.ts';
import type { Dial, LinkIo, McpLink, ToolRequestIo } from '../../mcp/wire/link.ts';
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

  #dial({ name, tools, io, isDead }: Dialled): McpLink {
    const place = `${name} ${++this.#dials}`;
    if (this.#happens('mcp.refuse', place, 'refuses the connection'))
      throw new LinkFault('unreachable', 'refused (simulated)', { delivered: false });
    return new SimulatedLink({
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
];

interface LinkOptions extends Omit<Dialled, 'name'> {
  readonly carryOut: (tool: string) => void;
  /** Draws what goes wrong with a call. */
  readonly fault: () => FaultName | null;
  /** Whether a server that dies in the middle of a call has carried it out. */
  readonly isCarriedOut: () => boolean;
}

class SimulatedLink implements McpLink {
  readonly info = {
    title: 'simulated',
    version: '1',
    protocolVersion: '2025-06-18',
    capabilities: { tools: { listChanged: true } },
    transport: 'stdio',
  } as const;
  readonly #options: LinkOptions;
  readonly #pending = new Set<(fault: LinkFault) => void>();
  #isDown = false;
  #hidden: string | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  listTools() {
    const tools = this.#options.tools.filter(({ name }) => name !== this.#hidden);
    return Promise.resolve(
      tools.map(({ name, description, inputSchema = { type: 'object' }, annotations }) => ({
        name,
        inputSchema,
        ...(description === undefined ? {} : { description }),
        ...(annotations === undefined ? {} : { annotations }),
      })),
    );
  }

  callTool(tool: string, args: JsonObject, { signal }: ToolRequestIo): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const fail = (kind: LinkFaultKind, delivered: boolean): void =>
        reject(new LinkFault(kind, `${kind} (simulated)`, { delivered }));
      if (this.#isDown || this.#options.isDead()) return fail('exited', false);
      signal.addEventListener('abort', () => fail('aborted', true), { once: true });
      this.#pending.add(reject);
      const answer = (): void => {
        this.#options.carryOut(tool);
        this.#pending.delete(reject);
        const said = this.#options.tools.find(({ name }) => name === tool)?.answer?.(args) ?? args;
        resolve({ content: [{ type: 'text', text: typeof said === 'string' ? said : JSON.stringify(said) }] });
      };
      this.#goWrong(this.#options.fault(), { tool, fail, answer });
    });
  }

  request(): Promise<Json> {
    return Promise.resolve({});
  }

  ping(): Promise<void> {
    return this.#isDown
      ? Promise.reject(new LinkFault('exited', 'dead (simulated)', { delivered: false }))
      : Promise.resolve();
  }

  notify(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#isDown = true;
    return Promise.resolve();
  }

  #goWrong(fault: FaultName | null, call: CallUnderWay): void {
    switch (fault) {
      case 'mcp.before':
        call.fail('exited', false);
        return this.#die();
      case 'mcp.during':
        if (this.#options.isCarriedOut()) this.#options.carryOut(call.tool);
        return this.#die();
      case 'mcp.after':
        call.answer();
        return this.#die();
      case 'mcp.session':
        return call.fail('session', false);
      case 'mcp.silent':
        return undefined;
      case 'mcp.error':
        return call.fail('answer', true);
      case 'mcp.list':
        this.#hidden = this.#hidden === undefined ? this.#options.tools.at(-1)?.name : undefined;
        call.answer();
        return this.#options.io.onListChanged('tools');
      default:
        return call.answer();
    }
  }

  /** The process of the server ends: what was under way is lost. */
  #die(): void {
    this.#isDown = true;
    const fault = new LinkFault('exited', 'the server has ended (simulated)', { delivered: true });
    for (const reject of this.#pending) reject(fault);
    if (!this.#options.isDead()) this.#options.io.onDown(fault);
  }
}

interface CallUnderWay {
  readonly tool: string;
  readonly fail: (kind: LinkFaultKind, delivered: boolean) => void;
  readonly answer: () => void;
}
