/**
 * Owns: what is sent on each new link beside the list of tools: how much the server should log, and which resources are
 * subscribed. Does not own: when there is a new link.
 *
 * I1 A resource is subscribed once however many listen, and on every new link again.
 * I2 After a new link each listener is called once: what changed in between was not reported.
 */
import { type JsonObject, memberOf } from '../../json/json.ts';
import type { McpLink, ProtocolWarning } from '../wire/link.ts';
import type { McpServer } from '../config/config.ts';
import type { McpRequestOptions, Requests } from './requests.ts';
import { LinkFault } from '../wire/faults.ts';

/** Word that a resource has changed. */
export interface McpResourceUpdate {
  /** The one that was subscribed, or a part of it. */
  readonly uri: string;
  /** The connection was away and is back: the resource may have changed meanwhile, or not. */
  readonly missed: boolean;
}

interface SubscriptionsOptions {
  readonly server: McpServer;
  readonly requests: Pick<Requests, 'ask'>;
  readonly isReady: () => boolean;
  readonly onWarning: (warning: ProtocolWarning) => void;
}

interface Followed {
  readonly listeners: Set<(update: McpResourceUpdate) => Promise<void>>;
  /** The first subscription; it rejects where the server refused it. */
  readonly made: Promise<unknown>;
  isMade: boolean;
}

const SAID_MS = 10_000;

/** The subscriptions of one connection; there are none at first. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  readonly #followed = new Map<string, Followed>();

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** Calls the listener with each change of a resource, until the returned function is called. */
  async subscribe(
    uri: string,
    listener: (update: McpResourceUpdate) => unknown,
    io: McpRequestOptions = {},
  ): Promise<() => Promise<void>> {
    const hear = async (update: McpResourceUpdate): Promise<void> => {
      try {
        await listener(update);
      } catch {
        // What a listener does wrong is its own affair: the connection must continue.
      }
    };
    const followed = this.#followed;
    const entry: Followed = followed.get(uri) ?? { listeners: new Set(), made: this.#begin(uri, io), isMade: false };
    followed.set(uri, entry);
    entry.listeners.add(hear);
    const leave = (): boolean => {
      if (!entry.listeners.delete(hear) || entry.listeners.size > 0 || followed.get(uri) !== entry) return false;
      return followed.delete(uri);
    };
    try {
      await entry.made;
      entry.isMade = true;
    } catch (error) {
      leave();
      throw error;
    }
    return async () => {
      if (leave() && this.#options.isReady())
        await this.#say(`the end of the subscription of '${uri}'`, 'resources/unsubscribe', { uri });
    };
  }

  /** To be called with each new link that is ready. */
  onLink({ info: { capabilities } }: McpLink): void {
    const { logLevel } = this.#options.server.settings;
    if (logLevel !== undefined && capabilities.logging !== undefined)
      void this.#say('the level of the log', 'logging/setLevel', { level: logLevel });
    for (const [uri, { isMade }] of this.#followed) {
      // One that is being made is sent on this link anyway.
      if (!isMade) continue;
      void this.#say(`the subscription of '${uri}'`, 'resources/subscribe', { uri }).then(
        (again) => again && this.#emit(uri, { uri, missed: true }),
      );
    }
  }

  /** The server reports that a resource has changed. It may name a part of what was subscribed. */
  onUpdated(updated: string): void {
    for (const uri of this.#followed.keys())
      if (updated === uri || updated.startsWith(`${uri.replace(/\/$/, '')}/`))
        this.#emit(uri, { uri: updated, missed: false });
  }

  #begin(uri: string, io: McpRequestOptions): Promise<unknown> {
    const what = `the subscription of '${uri}'`;
    return this.#options.requests.ask({
      what,
      method: 'resources/subscribe',
      params: { uri },
      io,
      check: mustSubscribe,
    });
  }

  /** Sends a request on a new link; a server that refuses it can still be used. */
  async #say(what: string, method: string, params: JsonObject): Promise<boolean> {
    try {
      await this.#options.requests.ask({ what, method, params, io: { timeoutMs: SAID_MS } });
      return true;
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      this.#options.onWarning({ kind: 'unexpected', message: `${what} failed. ${message}` });
      return false;
    }
  }

  #emit(uri: string, update: McpResourceUpdate): void {
    for (const listener of this.#followed.get(uri)?.listeners ?? []) void listener(update);
  }
}

function mustSubscribe({ info: { capabilities } }: McpLink): void {
  if (memberOf(capabilities.resources, 'subscribe') === true) return;
  throw new LinkFault('answer', 'it offers no subscription of resources', { delivered: false });
}
