import { randomBytes } from 'node:crypto';
import type { InspectionEvent, Observer } from 'xstate';
import { optionsOf, wrongOption } from '../json/known-options.ts';
import { SEND_PATH, sendTokenOf } from './server/check-request.ts';
import { fileSession, type FolderWatch, readableRecording, watchFolder } from './sessions/file-session.ts';
import { LiveSystems } from './sessions/live-systems.ts';
import { ReceivedSystems } from './sessions/received-systems.ts';
import { type Session, SessionList } from './sessions/session-list.ts';
import { openBrowser } from './server/open-browser.ts';
import { ownPage, ownPlace, pageFiles } from './server/page-files.ts';
import type { RunPort, WatchedActor } from './frames/run-port.ts';
import { runSession } from './sessions/run-session.ts';
import { listen } from './server/server.ts';
import { packageVersion } from './version.ts';

/** Options of an inspector. */
export interface InspectorOptions {
  /** Default: a free port. */
  readonly port?: number | undefined;
  /** Names that a proxy or a tunnel gives the page, such as `inspector.example.com`; one port with `:8080`. Default: none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** The token that the address must carry. Default: 192 random bits. At least 16 characters. */
  readonly token?: string | undefined;
  /** Opens the page in the browser. Default false. */
  readonly open?: boolean | undefined;
  /**
   * How many finished sessions are kept; the oldest are dropped first. As many active actor systems are shown; beyond
   * that, the one that was silent longest is dropped. Default 20.
   */
  readonly keep?: number | undefined;
  /** Keeps the process alive. Default false: it ends when no run is live and nothing else is left to do. */
  readonly keepAlive?: boolean | undefined;
  /** A folder with another page, for users who build their own. */
  readonly page?: string | undefined;
}

/** A local page that shows runs, recordings and actor systems. Pass it to agents as their option `inspect`. */
export interface Inspector extends RunPort {
  /** The page's address, including the token: anyone who has it can see and steer the runs. */
  readonly url: string;
  readonly port: number;
  /**
   * Where other apps report what their actors do, for `createWebSocketInspector({ url })` of `@statelyai/inspect`; append
   * `&app=<name>`. Anyone who has it can report, but neither see nor steer anything.
   */
  readonly statelyUrl: string;
  attachActor(watched: WatchedActor): () => void;
  /** An observer for `createActor(machine, { inspect: inspector.inspect })`: shows every XState v5 actor. */
  readonly inspect: Observer<InspectionEvent> & ((inspected: InspectionEvent) => void);
  /**
   * Receives an event of Stately's inspect protocol from another app, whose actors are then shown; false if it is not
   * one. `app` distinguishes apps that use the same ids. For events from other hosts or processes see `statelyUrl`.
   */
  receive(event: unknown, app?: string): boolean;
  /**
   * Shows a recording (JSON lines, or their list), a damaged one up to its damage, and returns the id of its session. Throws
   * if not even its first line can be read.
   */
  open(recording: string | readonly (string | object)[]): string;
  /** Shows the newest 500 recordings of a folder, those that are still written as they grow, and new ones. */
  openFolder(folder: string): Promise<void>;
  /** Ends everything: server, connections, sessions. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const checkNames = optionsOf<InspectorOptions>('createInspector', 'docs/inspector.md', {
  port: true,
  allowedHosts: true,
  token: true,
  open: true,
  keep: true,
  keepAlive: true,
  page: true,
});

const A_HOST = /^(?:[\w-]+\.)*[\w-]+(?::\d+)?$/;

/** With more runs at once than this, a page that follows the list opens few of those that begin. */
const EXPECTED_RUNS = 3;

/**
 * Starts an inspector: an HTTP server on 127.0.0.1 that cannot be reached without its token. It costs the agents nothing while
 * no one is watching. Rejects when the port is taken, or when a bundler has left the page's files behind (`page-missing`).
 *
 * @example
 * const inspector = await createInspector();
 * console.log(inspector.url);
 * const agent = createAgent({ inspect: inspector });
 */
export async function createInspector(options: InspectorOptions = {}): Promise<Inspector> {
  return (await startInspector(options)).inspector;
}

/** Starts an inspector, and says whether a page of it was ever open. */
async function startInspector(options: InspectorOptions) {
  const { page, port = 0, allowedHosts = [], keep = 20, keepAlive = false } = checked(options);
  const { token = randomBytes(24).toString('base64url') } = options;
  const sessions = new SessionList(keep);
  const systems = new LiveSystems(sessions);
  const apps = new ReceivedSystems(sessions);
  const live = new Set<Session>();
  const folders: FolderWatch[] = [];
  const place = page === undefined ? ownPlace() : null;
  const open = (recording: Parameters<Inspector['open']>[0]): string => {
    const read = readableRecording(recording);
    const id = sessions.freeId(read.recording.head.runId);
    sessions.add(fileSession(id, read).session);
    return id;
  };
  const receive: Inspector['receive'] = (event, app) => apps.receive(event, app);
  const sendToken = sendTokenOf(token);
  const server = await listen({
    port,
    allowedHosts: allowedHosts.map((name) => name.toLowerCase()),
    token,
    sendToken,
    keepAlive,
    sessions,
    page: place === null ? () => Promise.resolve(pageFiles(page ?? '')) : () => ownPage(place),
    open,
    receive,
    connect: (app, isLeaving) => apps.connect(app, isLeaving),
    version: packageVersion(),
  });
  const host = `127.0.0.1:${server.port}`;
  const url = `http://${host}/?token=${encodeURIComponent(token)}`;
  const inspect = (inspected: InspectionEvent): void => systems.next(inspected);

  const inspector: Inspector = {
    url,
    port: server.port,
    statelyUrl: `ws://${host}${SEND_PATH}?token=${sendToken}`,
    attach: (run) => {
      const { runId } = run.head;
      const { session, expect, ended, waiting } = runSession(run, () => sessions.changed(runId));
      if (sessions.followers > 0 && live.size < EXPECTED_RUNS) expect();
      sessions.add(session);
      // A call may wait for nothing but a click in the page: the process must not end under it.
      live.add(session);
      server.hold(true);
      return {
        waiting,
        ended: (ending) => {
          live.delete(session);
          server.hold(keepAlive || live.size > 0);
          ended(ending);
          sessions.retire(runId);
        },
      };
    },
    inspect: Object.assign(inspect, { next: inspect }),
    attachActor: (watched) => systems.attach(watched),
    receive,
    open,
    openFolder: async (folder) => {
      folders.push(await watchFolder(folder, sessions));
    },
    close: async () => {
      systems.close();
      for (const folder of folders) folder.close();
      for (const session of sessions.all()) session.close();
      await server.close();
    },
    [Symbol.asyncDispose]: () => inspector.close(),
  };
  if (options.open === true) openBrowser(url);
  return { inspector, wasOpened: () => sessions.wasFollowed };
}

function checked(options: InspectorOptions): InspectorOptions {
  checkNames(options);
  const { token, port, allowedHosts = [] } = options;
  if (token !== undefined && (typeof token !== 'string' || token.length < 16))
    throw wrongOption("createInspector: option 'token' must have at least 16 characters.");
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw wrongOption("createInspector: option 'port' must be a whole number from 0 to 65535.");
  if (!Array.isArray(allowedHosts) || !allowedHosts.every((name) => typeof name === 'string' && A_HOST.test(name)))
    throw wrongOption("createInspector: option 'allowedHosts' must list names such as 'inspector.example.com'.");
  return options;
}

/** Printed at the end of a process that was over before anyone could look. */
const ENDS_UNSEEN =
  'The inspector ends with this process, and nobody has opened it. To keep it: inspect: await createInspector({ keepAlive: true }). ' +
  'To look at runs later: journal: fileJournal(folder), then `signalbox inspect <folder>`.';

let own: ReturnType<typeof startInspector> | undefined;
let told = false;

/**
 * The inspector of this process, for agents made with `inspect: true`: started once, shared by all. It holds the
 * process only while a run that it shows is live. Its address goes to standard error, once.
 */
export async function ownInspector({ silent }: { readonly silent: boolean }): Promise<Inspector> {
  own ??= startInspector({});
  const { inspector, wasOpened } = await own;
  if (!silent && !told) {
    told = true;
    console.error(`Inspector: ${inspector.url}`);
    process.once('beforeExit', () => {
      if (!wasOpened()) console.error(ENDS_UNSEEN);
    });
  }
  return inspector;
}
