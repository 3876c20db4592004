/**
 * Owns: the request `subscriptions/listen` of a link to a server of MCP 2026-07-28 or later, in whose stream it reports that
 * lists and resources have changed. Does not own: what follows from a change.
 *
 * I1 The next stream is open before the one that it replaces is closed: no change is lost between them.
 * I2 A stream that broke is opened again, later and later; whatever may have changed meanwhile is reported as changed.
 * I3 A server that refuses to report changes is not asked again.
 */
import { waitAtMost } from '../../actors/deadline.ts';
import { type Client, type McpSubscription, ProtocolError } from '@modelcontextprotocol/client';
import { type JsonObject, memberOf } from '../../json/json.ts';
import { LinkFault, isRefusal } from '../wire/faults.ts';
import type { LinkIo, McpList } from '../wire/link.ts';

interface ListeningOptions {
  readonly client: Pick<Client, 'listen'>;
  readonly capabilities: JsonObject;
  readonly io: Pick<LinkIo, 'clock' | 'onDoubt' | 'onListChanged' | 'onNotification' | 'onWarning'>;
}

const LISTS: readonly McpList[] = ['tools', 'prompts', 'resources'];
/** How long the server may take to confirm that it listens, and how long a link waits for that. */
const CONFIRM_MS = 10_000;
const PATIENCE_MS = 1000;
/** The wait before a stream is opened again, at first and at most; one that lasted so long begins at the first again. */
const AGAIN_MS = { first: 1000, most: 30_000 };

/** Listens to the changes of one server. */
export class Listening {
  readonly #options: ListeningOptions;
  readonly #lists: readonly McpList[];
  readonly #uris = new Set<string>();
  /** One opening after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #open: McpSubscription | null = null;
  #waitMs = AGAIN_MS.first;
  #timer: unknown = null;
  #over = false;

  constructor(options: ListeningOptions) {
    this.#options = options;
    this.#lists = LISTS.filter((list) => memberOf(options.capabilities[list], 'listChanged') === true);
  }

  /** Opens the stream if the server has lists that change. Resolves when it is confirmed, or after a second. Never rejects. */
  async begin(): Promise<void> {
    if (this.#lists.length === 0) return;
    const { clock } = this.#options.io;
    const begun = this.#renew().catch((error: unknown) => this.#onFailed(error));
    await waitAtMost(PATIENCE_MS, undefined, begun, clock);
  }

  /** Has the changes of a resource reported. Rejects with a {@link LinkFault} if the server does not do that. */
  async follow(uri: string): Promise<void> {
    this.#uris.add(uri);
    try {
      const { resourceSubscriptions = [] } = await this.#renew();
      if (resourceSubscriptions.includes(uri)) return;
    } catch (error) {
      this.#uris.delete(uri);
      const why = error instanceof Error ? error.message : String(error);
      throw error instanceof LinkFault && !isRefusal(error)
        ? error
        : new LinkFault('answer', why, { delivered: true, cause: error });
    }
    this.#uris.delete(uri);
    throw new LinkFault('answer', 'it does not report changes of this resource', { delivered: true });
  }

  async leave(uri: string): Promise<void> {
    if (this.#uris.delete(uri)) await this.#renew();
  }

  end(): void {
    this.#over = true;
    this.#options.io.clock.clearTimeout(this.#timer);
  }

  /** Opens a stream for what is wanted now, then closes the one before; gives what the server will report. */
  #renew(): Promise<McpSubscription['honoredFilter']> {
    const opened = this.#turn.then(async () => {
      const before = this.#open;
      const stream = await this.#listen();
      await before?.close();
      return stream?.honoredFilter ?? {};
    });
    this.#turn = opened.catch(() => undefined);
    return opened;
  }

  async #listen(): Promise<McpSubscription | null> {
    if (this.#over || (this.#lists.length === 0 && this.#uris.size === 0)) return (this.#open = null);
    const stream = await this.#options.client.listen(
      {
        ...Object.fromEntries(this.#lists.map((list) => [`${list}ListChanged`, true])),
        ...(this.#uris.size === 0 ? {} : { resourceSubscriptions: [...this.#uris] }),
      },
      { timeout: CONFIRM_MS },
    );
    const since = performance.now();
    this.#open = stream;
    void stream.closed.then((how) => {
      if (how === 'local' || this.#open !== stream || this.#over) return;
      this.#open = null;
      if (performance.now() - since >= AGAIN_MS.most) this.#waitMs = AGAIN_MS.first;
      if (how === 'remote') this.#options.io.onDoubt('the stream of its messages ended');
      this.#again();
    });
    return stream;
  }

  #again(): void {
    this.#timer = this.#options.io.clock.setTimeout(() => {
      this.#renew().then(
        () => this.#reportAll(),
        (error: unknown) => this.#onFailed(error),
      );
    }, this.#waitMs);
    this.#waitMs = Math.min(AGAIN_MS.most, 2 * this.#waitMs);
  }

  #onFailed(error: unknown): void {
    if (this.#over) return;
    if (!(error instanceof ProtocolError) && !isRefusal(error)) return this.#again();
    const why = error instanceof Error ? error.message : String(error);
    this.#options.io.onWarning({ kind: 'unexpected', message: `it does not report changes of its lists: ${why}` });
  }

  #reportAll(): void {
    if (this.#over) return;
    const { onListChanged, onNotification } = this.#options.io;
    for (const list of this.#lists) onListChanged(list);
    for (const uri of this.#uris) onNotification('notifications/resources/updated', { uri });
  }
}
