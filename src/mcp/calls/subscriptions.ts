/**
 * Owns: what each new link is told beside the list of tools: how much the server is to log, and which resources somebody
 * follows. Does not own: when there is a new link.
 *
 * I1 A resource is subscribed once however many listen, and on every new link again.
 * I2 After a new link each listener is called once: what changed in between was told to nobody.
 */
import type { McpConnection } from '../connection-types.ts';
import type { McpLink, ProtocolWarning } from '../wire/link.ts';
import type { McpServer } from '../config/config.ts';
import type { Requests } from './requests.ts';
import { LinkFault } from '../wire/faults.ts';

/** Word that a resource has changed. */
export interface McpResourceUpdate {
  /** The one that was subscribed, or a part of it. */
  readonly uri: string;
  /** The connection was away and is back: the resource may have changed meanwhile, or not. */
  readonly missed: boolean;
}

/** The subscriptions of one connection. */
interface Subscriptions {
  readonly subscribe: McpConnection['subscribeResource'];
  /** To be called with each new link that is ready. */
  onLink(link: McpLink): void;
  /** The server says that a resource has changed. */
  onUpdated(uri: string): void;
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

const TOLD_MS = 10_000;

/** Makes the subscriptions of a connection; there are none at first. */
export function createSubscriptions({ server, requests, isReady, onWarning }: SubscriptionsOptions): Subscriptions {
  const followed = new Map<string, Followed>();
  const { logLevel } = server.settings;

  /** Says something to a new link; a server that does not want to hear it is a server all the same. */
  const say = async (what: string, method: string, params: { readonly [key: string]: string }): Promise<boolean> => {
    try {
      await requests.ask(what, method, params, { timeoutMs: TOLD_MS });
      return true;
    } catch (thrown) {
      onWarning({ kind: 'unexpected', message: thrown instanceof Error ? thrown.message : String(thrown) });
      return false;
    }
  };
  const tell = (uri: string, update: McpResourceUpdate): void => {
    for (const listener of followed.get(uri)?.listeners ?? []) void listener(update);
  };

  return {
    async subscribe(uri, listener, io = {}) {
      const hear = async (update: McpResourceUpdate): Promise<void> => {
        try {
          await listener(update);
        } catch {
          // What a listener does wrong is its own affair: the connection must go on.
        }
      };
      const entry: Followed = followed.get(uri) ?? {
        listeners: new Set(),
        made: requests.ask(`the subscription of '${uri}'`, 'resources/subscribe', { uri }, io, mustSubscribe),
        isMade: false,
      };
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
        if (leave() && isReady())
          await say(`the end of the subscription of '${uri}'`, 'resources/unsubscribe', { uri });
      };
    },
    onLink({ info: { capabilities } }) {
      if (logLevel !== undefined && capabilities.logging !== undefined)
        void say('the level of the log', 'logging/setLevel', { level: logLevel });
      for (const [uri, { isMade }] of followed) {
        // One that is being made is sent on this link anyway.
        if (!isMade) continue;
        void say(`the subscription of '${uri}'`, 'resources/subscribe', { uri }).then(
          (again) => again && tell(uri, { uri, missed: true }),
        );
      }
    },
    onUpdated(updated) {
      // The server may name a part of what was subscribed.
      for (const uri of followed.keys())
        if (updated === uri || updated.startsWith(`${uri.replace(/\/$/, '')}/`))
          tell(uri, { uri: updated, missed: false });
    },
  };
}

function mustSubscribe({ info: { capabilities } }: McpLink): void {
  const { resources } = capabilities;
  if (typeof resources === 'object' && resources !== null && Reflect.get(resources, 'subscribe') === true) return;
  throw new LinkFault('answer', 'it offers no subscription of resources', { delivered: false });
}
