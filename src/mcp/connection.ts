/**
 * Owns: one connection as its users see it: the machine, its links and its calls, wired together. Does not own: when
 * to try again (the machine), what becomes of a call (the queue), how a server is spoken to (the links).
 */
import { createActor } from 'xstate';
import type { McpServerConfig } from './config/config.ts';
import {
  GIVEN_UP,
  LIVE,
  type McpConnection,
  type McpConnectionNews,
  type McpConnectionOptions,
  type McpLoginStep,
  type McpState,
  checkConnectionOptions,
  checkListing,
  loginStep,
  topLevel,
} from './connection-types.ts';
import { readMcpServer } from './config/read-config.ts';
import { DEFAULT_MCP_LIMITS } from './config/server-limits.ts';
import { type McpLink, REAL_CLOCK } from './wire/link.ts';
import { createListeners, createServerLog, createWarningCounter } from './connection-news.ts';
import { createCallQueue } from './calls/call-queue.ts';
import { rootsOf } from './link/answer-request.ts';
import { createQuestions } from './questions/questions.ts';
import { authLeaves, authorizerOf, createSignIn } from './sign-in.ts';
import { createLinks, linkLeaves } from './link/links.ts';
import { mcpConnectionMachine } from '../machines/mcp/mcp-connection.ts';
import { LinkFault, keptError, toMcpError } from './wire/faults.ts';
import { McpError } from '../actors/mcp/mcp-calls.ts';
import { diffTools } from './policies/tool-identity.ts';
import { createRequests } from './calls/requests.ts';
import { createSubscriptions } from './calls/subscriptions.ts';
import { createToolCalls } from './calls/tool-calls.ts';
import { errorResult } from './calls/call-errors.ts';

/** How long answers that are on their way over a link that was given up may take. */
const LINGER_MS = 1000;

/**
 * Makes a connection to one MCP server. Nothing is started or opened before `connect()` or the first call. It may stand
 * for a configuration in any number of agents, which share it; who made it ends it with `disconnect()`. Throws an
 * {@link McpConfigError} for a wrong configuration.
 *
 * @example
 * const files = createMcpConnection('files', { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] });
 * if (await files.connect()) console.log(await files.callTool('list_directory', { path: '.' }));
 * await files.disconnect();
 */
export function createMcpConnection(
  name: string,
  config: McpServerConfig,
  options: McpConnectionOptions = {},
): McpConnection {
  checkConnectionOptions(options);
  const server = readMcpServer(name, config, options.env);
  const { mcp, ...patience } = options.limits ?? {};
  const limits = { ...DEFAULT_MCP_LIMITS, ...mcp };
  const clock = options.clock ?? REAL_CLOCK;
  const news = createListeners<McpConnectionNews>();
  const warnings = createWarningCounter((told) => news.emit({ type: 'mcp.oddity', server: name, ...told }));

  const log = createServerLog(server.settings.logLevel ?? 'debug', (told) =>
    news.emit({ type: 'mcp.log', server: name, ...told }),
  );

  const queue = createCallQueue(
    name,
    { clock, patienceMs: options.patienceMs ?? 4000 },
    {
      onWaiting: () => actor.send({ type: 'call.wanted' }),
      onImpatient: () => actor.send({ type: 'connection.wanted' }),
      onAnswered: (generation) => {
        const { failures, refusals, stepUps } = actor.getSnapshot().context;
        if (failures + refusals + stepUps > 0) actor.send({ type: 'link.proved', generation });
      },
      onDoubt: (generation) => actor.send({ type: 'link.doubted', generation }),
      onLost: (generation, fault) => tellLost(generation, fault),
      onRefused: (generation, fault) => signIn.onRefused(generation, fault),
    },
  );
  const given = server.settings.roots;
  let roots = options.roots ?? (given === undefined ? undefined : () => rootsOf(given));
  const questions = createQuestions({
    server: name,
    sampling: server.settings.sampling,
    queue,
    answers: options,
    perCall: limits.questionsPerCall,
    onWarning: warnings.note,
  });
  const authorizer = authorizerOf(server, { clock, offersLogin: options.offersLogin ?? true });
  const links = createLinks({
    server,
    clock,
    authorize: authorizer?.holder.wrap,
    dial: options.dial ?? null,
    limits,
    answers: (generation) => questions.on(generation, roots === undefined ? undefined : () => roots?.() ?? []),
    isBusy: (generation) => queue.underWay(generation) > 0,
    onDown: (generation, fault) => tellLost(generation, fault),
    onDoubt: (generation) => actor.send({ type: 'link.doubted', generation }),
    onListChanged: (generation, list) => {
      if (list === 'tools') actor.send({ type: 'tools.changed', generation });
      else news.emit({ type: 'mcp.list', server: name, list });
    },
    onWarning: warnings.note,
    onNotification: (method, params) => {
      if (method === 'notifications/message') log(params);
      const { uri } = params;
      if (method === 'notifications/resources/updated' && typeof uri === 'string') subscriptions.onUpdated(uri);
    },
  });
  const machine = mcpConnectionMachine.provide({
    actors: { ...linkLeaves(links), ...(authorizer === null ? {} : authLeaves(authorizer)) },
  });
  const actor = createActor(machine, {
    id: machine.id,
    input: {
      server: name,
      seed: options.seed ?? Math.floor(Math.random() * 2 ** 31),
      limits: patience,
      auth: authorizer?.kind ?? 'none',
    },
    clock,
  });
  const tellLost = (generation: number, fault: LinkFault): void => {
    const { code, message, data } = toMcpError(name, fault);
    actor.send({ type: 'link.lost', generation, error: { code, message, data } });
  };

  const signIn = createSignIn({ server: name, actor, authorizer });

  let state: McpState = 'IDLE';
  let step: McpLoginStep | null = null;
  let tools = actor.getSnapshot().context.tools;
  let listings = 0;
  let greeted = 0;

  const lastError = (): McpError | null => {
    const { error } = actor.getSnapshot().context;
    const missing = signIn.required();
    if (error === null || missing !== null) return missing;
    return keptError(name, error);
  };
  const notConnected = (): McpError =>
    lastError() ?? new McpError('not-connected', name, `MCP server '${name}' is not connected.`);
  const stopped = (): McpError => new McpError('cancelled', name, `MCP server '${name}' was disconnected.`);

  /** Lets answers that are on their way arrive; what has none then is lost. */
  const finish = async (generation: number, link: McpLink): Promise<void> => {
    if (state !== 'STOPPED' && link.info.transport !== 'stdio' && queue.underWay(generation) > 0) {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = clock.setTimeout(resolve, LINGER_MS);
      await Promise.race([queue.quiet(generation), late]);
      clock.clearTimeout(timer);
    }
    const cause = notConnected();
    queue.lose(generation, new LinkFault('unreachable', cause.message, { delivered: true, data: cause.data, cause }));
  };

  const follow = (): void => {
    const snapshot = actor.getSnapshot();
    const { context } = snapshot;
    const [previous, stepBefore] = [state, step];
    state = topLevel(snapshot.value);
    step = loginStep(snapshot.value);
    if (context.listings !== listings) {
      const changes = diffTools(tools, context.tools);
      [tools, listings] = [context.tools, context.listings];
      if (changes !== null) news.emit({ type: 'mcp.tools', server: name, ...changes });
    }
    const link = state === 'READY' || signIn.goesOn() ? links.find(context.generation) : null;
    if (link !== null) {
      queue.open({ link, generation: context.generation });
      if (greeted !== context.generation) subscriptions.onLink(link);
      greeted = context.generation;
    } else queue.hold(state === 'BACKING_OFF', lastError());
    if (state !== previous) {
      if (state === 'CONNECTING') warnings.beginAnew();
      if (state === 'STOPPED') queue.refuse(stopped(), 'sent');
      const keeps = LIVE.has(state) || signIn.goesOn();
      links.retire(keeps ? context.generation : null, state === 'STOPPED' ? 'gently' : 'at-once', finish);
      if (state === 'FAILED' || state === 'AUTH_REQUIRED') queue.refuse(notConnected());
    }
    const missing = signIn.required();
    if (missing !== null) queue.refuse(missing);
    if (state !== previous || step !== stepBefore)
      news.emit({ type: 'mcp.changed', server: name, state, previous, step, error: missing ?? context.error });
  };
  actor.subscribe(follow);
  actor.start();

  /** Resolves when a condition holds; looks again after each step of the machine. */
  const until = <T>(look: () => T | null): Promise<T> =>
    new Promise((resolve) => {
      const check = (): void => {
        const found = look();
        if (found === null) return;
        subscription.unsubscribe();
        resolve(found);
      };
      const subscription = actor.subscribe(check);
      check();
    });

  const isConnected = (): boolean => state === 'READY' || state === 'SUSPECT' || signIn.goesOn();
  const requests = createRequests({ server, queue, limits, refusal });
  const isReady = (): boolean => state === 'READY';
  const subscriptions = createSubscriptions({ server, requests, isReady, onWarning: warnings.note });
  function refusal(): McpError | null {
    if (state === 'STOPPED')
      return new McpError('not-connected', name, `MCP server '${name}' was disconnected; connect it first.`);
    return state === 'AUTH_REQUIRED' ? notConnected() : signIn.required();
  }

  const call = createToolCalls({
    server,
    queue,
    clock,
    questions,
    tools: () => tools,
    refusal,
    onWarning: warnings.note,
  });

  const connection: McpConnection = {
    name,
    server,
    actor,
    get state() {
      return state;
    },
    get error() {
      return lastError();
    },
    get info() {
      const { generation } = actor.getSnapshot().context;
      return links.find(generation)?.info ?? null;
    },
    get tools() {
      return tools;
    },
    get warnings() {
      return warnings.warnings();
    },
    async connect() {
      if (isConnected()) return true;
      actor.send({ type: 'connection.wanted' });
      return until(() => (isConnected() ? true : GIVEN_UP.has(state) || signIn.required() !== null ? false : null));
    },
    async disconnect() {
      actor.send({ type: 'connection.stopped' });
      await links.ended();
    },
    isConnected,
    async listTools(how = {}) {
      checkListing(how);
      const { refresh = false, ...io } = how;
      await requests.ready(io);
      if (!refresh) return tools;
      const before = listings;
      actor.send({ type: 'tools.wanted' });
      await until(() => (listings > before || state !== 'READY' ? true : null));
      if (listings === before) throw notConnected();
      return tools;
    },
    call,
    callTool: (tool, args = {}, io = {}) =>
      call(tool, args, io).catch((thrown: unknown) => errorResult(toMcpError(name, thrown))),
    readResource: requests.readResource,
    listResources: requests.listResources,
    listResourceTemplates: requests.listResourceTemplates,
    getPrompt: requests.getPrompt,
    listPrompts: requests.listPrompts,
    complete: requests.complete,
    subscribeResource: subscriptions.subscribe,
    setRoots(folders) {
      roots = () => rootsOf(folders);
      void links.find(actor.getSnapshot().context.generation)?.notify('notifications/roots/list_changed');
    },
    get pendingLogin() {
      return actor.getSnapshot().context.login;
    },
    login: () => signIn.login(until),
    ...signIn.api,
    async logout() {
      await this.disconnect();
      await authorizer?.forget();
    },
    on: (type, listener) => news.on(type, listener),
    async [Symbol.asyncDispose]() {
      await this.disconnect();
    },
  };
  if (authorizer !== null) noteSecrets(connection, authorizer.secrets);
  return connection;
}

const secrets = new WeakMap<McpConnection, () => readonly string[]>();

/** Notes what a connection has of tokens and codes, so that agents that use it can keep them out of what they show. */
export function noteSecrets(connection: McpConnection, read: () => readonly string[]): void {
  secrets.set(connection, read);
}

/** The tokens and codes that a connection has used. */
export function secretsOfConnection(connection: McpConnection): readonly string[] {
  return secrets.get(connection)?.() ?? [];
}
