/**
 * Owns: one connection as its users see it: the machine, its links and its calls, wired together. Does not own: when
 * to try again (the machine), what becomes of a call (the queue), how a server is spoken to (the links).
 */
import { type ActorRefFrom, createActor } from 'xstate';
import { McpError, type McpTool } from '../actors/mcp/mcp-calls.ts';
import { mcpConnectionMachine } from '../machines/mcp/mcp-connection.ts';
import type { Authorizer } from './auth/authorizer.ts';
import { CallQueue } from './calls/call-queue.ts';
import { Requests } from './calls/requests.ts';
import { Subscriptions } from './calls/subscriptions.ts';
import { callServerTool } from './calls/tool-calls.ts';
import type { McpAnswers } from './config/answers.ts';
import type { McpServer } from './config/config.ts';
import { mcpLimits, type McpLimits } from './config/server-limits.ts';
import { createListeners, createServerLog, createWarningCounter } from './connection-news.ts';
import {
  GIVEN_UP,
  LIVE,
  type McpConnection,
  type McpConnectionNews,
  type McpConnectionOptions,
  type McpLoginStep,
  type McpState,
  checkListing,
  loginStep,
  topLevel,
} from './connection-types.ts';
import { rootsOf } from './link/answer-request.ts';
import { Links, linkLeaves } from './link/links.ts';
import { diffTools } from './policies/tool-identity.ts';
import { Questions } from './questions/questions.ts';
import { authLeaves, authorizerOf, createSignIn } from './sign-in.ts';
import { LinkFault, keptError, toMcpError } from './wire/faults.ts';
import { type Dial, type McpClock, type McpLink, REAL_CLOCK } from './wire/link.ts';

/** How long answers in flight on an abandoned link may take. */
const LINGER_MS = 1000;

/** What a connection is made of, and where it stands: each step of its machine is followed. */
export class LiveConnection {
  readonly actor: ActorRefFrom<typeof mcpConnectionMachine>;
  readonly authorizer: Authorizer | null;
  readonly signIn: ReturnType<typeof createSignIn>;
  readonly requests: Requests;
  readonly subscriptions: Subscriptions;
  readonly news = createListeners<McpConnectionNews>();
  readonly warnings: ReturnType<typeof createWarningCounter>;
  state: McpState = 'IDLE';
  tools: readonly McpTool[] = [];
  readonly #server: McpServer;
  readonly #name: string;
  readonly #clock: McpClock;
  readonly #queue: CallQueue;
  readonly #questions: Questions;
  readonly #links: Links;
  readonly #log: ReturnType<typeof createServerLog>;
  #roots: McpAnswers['roots'];
  #step: McpLoginStep | null = null;
  #listings = 0;
  /** The link that has the subscriptions. */
  #greeted = 0;

  constructor(server: McpServer, options: McpConnectionOptions) {
    const { name, settings } = server;
    const { mcp, ...patience } = options.limits ?? {};
    const limits = mcpLimits(mcp);
    const clock = options.clock ?? REAL_CLOCK;
    [this.#server, this.#name, this.#clock] = [server, name, clock];
    this.warnings = createWarningCounter((warning) =>
      this.news.emit({ type: 'mcp.warning', server: name, ...warning }),
    );
    this.#log = createServerLog(settings.logLevel ?? 'debug', (message) =>
      this.news.emit({ type: 'mcp.log', server: name, ...message }),
    );
    const { roots } = settings;
    this.#roots = options.roots ?? (roots === undefined ? undefined : () => rootsOf(roots));
    this.authorizer = authorizerOf(server, { clock, offersLogin: options.offersLogin ?? true });
    this.#queue = this.#makeQueue(options.patienceMs ?? 4000);
    this.#questions = new Questions({
      server: name,
      sampling: settings.sampling,
      queue: this.#queue,
      answers: options,
      perCall: limits.questionsPerCall,
      onWarning: this.warnings.note,
    });
    this.#links = this.#makeLinks(options.dial ?? null, limits);
    const refusal = (): McpError | null => this.#refusal();
    this.requests = new Requests({ server, queue: this.#queue, limits, refusal });
    this.subscriptions = new Subscriptions({
      server,
      requests: this.requests,
      isReady: () => this.state === 'READY',
      onWarning: this.warnings.note,
    });
    const actors = { ...linkLeaves(this.#links), ...(this.authorizer === null ? {} : authLeaves(this.authorizer)) };
    const seed = options.seed ?? Math.floor(Math.random() * 2 ** 31);
    const input = { server: name, seed, limits: patience, auth: this.authorizer?.kind ?? ('none' as const) };
    const { id } = mcpConnectionMachine;
    this.actor = createActor(mcpConnectionMachine.provide({ actors }), { id, input, clock });
    this.signIn = createSignIn({ server: name, actor: this.actor, authorizer: this.authorizer });
    this.tools = this.actor.getSnapshot().context.tools;
    this.actor.subscribe(() => this.#follow());
    this.actor.start();
  }

  isConnected(): boolean {
    return this.state === 'READY' || this.state === 'SUSPECT' || this.signIn.goesOn();
  }

  async connect(): Promise<boolean> {
    if (this.isConnected()) return true;
    this.actor.send({ type: 'connection.wanted' });
    return this.until(() =>
      this.isConnected() ? true : GIVEN_UP.has(this.state) || this.signIn.required() !== null ? false : null,
    );
  }

  async disconnect(): Promise<void> {
    this.actor.send({ type: 'connection.stopped' });
    await this.#links.ended();
  }

  async listTools(how: NonNullable<Parameters<McpConnection['listTools']>[0]>): Promise<readonly McpTool[]> {
    checkListing(how);
    const { refresh = false, ...io } = how;
    await this.requests.ready(io);
    if (!refresh) return this.tools;
    const before = this.#listings;
    this.actor.send({ type: 'tools.wanted' });
    await this.until(() => (this.#listings > before || this.state !== 'READY' ? true : null));
    if (this.#listings === before) throw this.#notConnected();
    return this.tools;
  }

  async call(...[tool, args, io = {}]: Parameters<McpConnection['call']>): ReturnType<McpConnection['call']> {
    const options: Parameters<typeof callServerTool>[0] = {
      server: this.#server,
      queue: this.#queue,
      clock: this.#clock,
      afterPages: (about, work) => this.#questions.afterPages(about, work),
      tools: () => this.tools,
      refusal: () => this.#refusal(),
      onWarning: this.warnings.note,
    };
    return callServerTool(options, tool, args, io);
  }

  setRoots(folders: readonly string[]): void {
    this.#roots = () => rootsOf(folders);
    void this.link()?.notify('notifications/roots/list_changed');
  }

  /** The newest link; null where there is none. */
  link(): McpLink | null {
    return this.#links.find(this.actor.getSnapshot().context.generation);
  }

  lastError(): McpError | null {
    const { error } = this.actor.getSnapshot().context;
    const missing = this.signIn.required();
    return error === null || missing !== null ? missing : keptError(this.#name, error);
  }

  /** Resolves when a condition holds; looks again after each step of the machine. */
  until<T>(look: () => T | null): Promise<T> {
    return new Promise((resolve) => {
      const check = (): void => {
        const found = look();
        if (found === null) return;
        subscription.unsubscribe();
        resolve(found);
      };
      const subscription = this.actor.subscribe(check);
      check();
    });
  }

  #makeQueue(patienceMs: number): CallQueue {
    return new CallQueue(
      { server: this.#name, clock: this.#clock, patienceMs },
      {
        onWaiting: () => this.actor.send({ type: 'call.wanted' }),
        onImpatient: () => this.actor.send({ type: 'connection.wanted' }),
        onAnswered: (generation) => {
          const { failures, refusals, stepUps } = this.actor.getSnapshot().context;
          if (failures + refusals + stepUps > 0) this.actor.send({ type: 'link.proved', generation });
        },
        onDoubt: (generation) => this.actor.send({ type: 'link.doubted', generation }),
        onLost: (generation, fault) => this.#reportLost(generation, fault),
        onRefused: (generation, fault) => this.signIn.onRefused(generation, fault),
      },
    );
  }

  #makeLinks(dial: Dial | null, limits: McpLimits): Links {
    const server = this.#name;
    return new Links({
      server: this.#server,
      clock: this.#clock,
      authorize: this.authorizer?.holder.wrap,
      dial,
      limits,
      answers: (generation) =>
        this.#questions.on(generation, this.#roots === undefined ? undefined : () => this.#roots?.() ?? []),
      isBusy: (generation) => this.#queue.underWay(generation) > 0,
      onDown: (generation, fault) => this.#reportLost(generation, fault),
      onDoubt: (generation) => this.actor.send({ type: 'link.doubted', generation }),
      onListChanged: (generation, list) => {
        if (list === 'tools') this.actor.send({ type: 'tools.changed', generation });
        else this.news.emit({ type: 'mcp.list', server, list });
      },
      onWarning: this.warnings.note,
      onNotification: (method, params) => {
        if (method === 'notifications/message') this.#log(params);
        const { uri } = params;
        if (method === 'notifications/resources/updated' && typeof uri === 'string') this.subscriptions.onUpdated(uri);
      },
    });
  }

  /** Does what follows from a step of the machine. */
  #follow(): void {
    const { value, context } = this.actor.getSnapshot();
    const [previous, stepBefore] = [this.state, this.#step];
    this.state = topLevel(value);
    this.#step = loginStep(value);
    if (context.listings !== this.#listings) {
      const changes = diffTools(this.tools, context.tools);
      [this.tools, this.#listings] = [context.tools, context.listings];
      if (changes !== null) this.news.emit({ type: 'mcp.tools', server: this.#name, ...changes });
    }
    this.#serve(context.generation);
    if (this.state !== previous) this.#enter(context.generation);
    const missing = this.signIn.required();
    if (missing !== null) this.#queue.refuse(missing);
    if (this.state === previous && this.#step === stepBefore) return;
    const error = missing ?? context.error;
    this.news.emit({ type: 'mcp.changed', server: this.#name, state: this.state, previous, step: this.#step, error });
  }

  /** Lets calls leave, or wait. */
  #serve(generation: number): void {
    const link = this.state === 'READY' || this.signIn.goesOn() ? this.#links.find(generation) : null;
    if (link === null) return this.#queue.hold(this.state === 'BACKING_OFF' ? this.lastError() : null);
    this.#queue.open({ link, generation });
    if (this.#greeted !== generation) this.subscriptions.onLink(link);
    this.#greeted = generation;
  }

  /** Ends the links that a new state has no use for, and refuses the calls that it leaves without hope. */
  #enter(generation: number): void {
    const { state } = this;
    if (state === 'CONNECTING') this.warnings.beginAnew();
    if (state === 'STOPPED')
      this.#queue.refuse(new McpError('cancelled', this.#name, `MCP server '${this.#name}' was disconnected.`), 'sent');
    const keeps = LIVE.has(state) || this.signIn.goesOn();
    this.#links.retire(keeps ? generation : null, state === 'STOPPED' ? 'gently' : 'at-once', (old, link) =>
      this.#finish(old, link),
    );
    if (state === 'FAILED' || state === 'AUTH_REQUIRED') this.#queue.refuse(this.#notConnected());
  }

  /** Lets answers that are on their way arrive; what has none then is lost. */
  async #finish(generation: number, link: McpLink): Promise<void> {
    if (this.state !== 'STOPPED' && link.info.transport !== 'stdio' && this.#queue.underWay(generation) > 0)
      await this.#queue.quietWithin(LINGER_MS, generation);
    const cause = this.#notConnected();
    const fault = new LinkFault('unreachable', cause.message, { delivered: true, data: cause.data, cause });
    this.#queue.lose(generation, fault);
  }

  #reportLost(generation: number, fault: LinkFault): void {
    const { code, message, data } = toMcpError(this.#name, fault);
    this.actor.send({ type: 'link.lost', generation, error: { code, message, data } });
  }

  #notConnected(): McpError {
    return (
      this.lastError() ?? new McpError('not-connected', this.#name, `MCP server '${this.#name}' is not connected.`)
    );
  }

  /** Why nothing can be called at the moment; null when it can. */
  #refusal(): McpError | null {
    if (this.state === 'STOPPED')
      return new McpError(
        'not-connected',
        this.#name,
        `MCP server '${this.#name}' was disconnected; connect it first.`,
      );
    return this.state === 'AUTH_REQUIRED' ? this.#notConnected() : this.signIn.required();
  }
}
