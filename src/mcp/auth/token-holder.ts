import type { Challenge } from '../http/challenge.ts';
import { LinkFault } from '../wire/faults.ts';
import type { Fetch } from '../../models/endpoint/endpoint.ts';
import { isJsonObject } from '../../json/json.ts';

/** A token that is in use. */
interface HeldToken {
  readonly access: string;
  /** Until when it is used, in milliseconds since 1970; null: it does not say. */
  readonly expiresAt: number | null;
}

/** The token of one connection, in memory. It leaves only in requests to the server. */
export interface TokenHolder {
  readonly current: () => HeldToken | null;
  /** What the server wanted last. */
  readonly challenge: () => Challenge | null;
  hold(token: HeldToken | null): void;
  /** Holds the token that others can get from the store now. */
  find(): Promise<void>;
  /** Notes what the server demands without a token. */
  heard(challenge: Challenge | null): void;
  /** Whether a fault is about a token that is not in use any more: it proves nothing of this one. */
  isOld(fault: LinkFault): boolean;
  /** Puts the token on requests, and reports which token a refusal concerns. */
  wrap(inner: Fetch): Fetch;
  /** All tokens that were in use, for those that must not show them. */
  seen(): readonly string[];
}

interface HolderOptions {
  readonly origin: string;
  /** Looks for a token before a request that has none, or an expired one. */
  readonly find: () => Promise<void>;
}

const MOST_SEEN = 100;

/** Whether a token is not to be used any more. */
export function isExpired({ expiresAt }: Pick<HeldToken, 'expiresAt'>): boolean {
  return expiresAt !== null && expiresAt <= Date.now();
}

/** Makes the holder of a connection's token; it is empty at first. */
export function tokenHolder({ origin, find }: HolderOptions): TokenHolder {
  let held: HeldToken | null = null;
  let serial = 0;
  let challenge: Challenge | null = null;
  const seen = new Set<string>();

  const hold = (token: HeldToken | null): void => {
    if (token?.access !== held?.access) serial += 1;
    held = token;
    if (token === null) return;
    seen.add(token.access);
    const [oldest] = seen;
    if (seen.size > MOST_SEEN && oldest !== undefined) seen.delete(oldest);
  };
  /** What a call lacks does not say what a login needs. */
  const narrowed = (told: Challenge | null, byCall: boolean): Challenge | null =>
    told !== null && byCall ? { ...told, scopes: challenge?.scopes ?? [] } : told;
  const usable = async (): Promise<HeldToken | null> => {
    if (held === null || isExpired(held)) await find();
    if (held === null || !isExpired(held)) return held;
    throw new LinkFault('auth', 'our token has expired', { delivered: false, data: { status: 401, token: serial } });
  };
  return {
    current: () => held,
    challenge: () => challenge,
    hold,
    find,
    heard: (told) => void (challenge ??= told),
    isOld: ({ data }) => typeof data.token === 'number' && data.token !== serial,
    seen: () => [...seen],
    wrap: (inner) => async (url, init) => {
      // Only the server itself gets the token, whatever address a transport was given.
      if (new URL(url instanceof Request ? url.url : url).origin !== origin) return inner(url, init);
      const token = await usable();
      const sent = serial;
      const headers = new Headers(init?.headers);
      if (token !== null) headers.set('authorization', `Bearer ${token.access}`);
      try {
        return await inner(url, { ...init, headers });
      } catch (error) {
        if (!(error instanceof LinkFault) || error.kind !== 'auth') throw error;
        const told = challengeIn(error);
        const lacking = error.data.status === 403 && told?.error === 'insufficient_scope' ? told.scopes : [];
        challenge = narrowed(told, error.data.status === 403) ?? challenge;
        // What the server wrote may repeat the token.
        const { body: _body, ...data } = error.data;
        if (lacking.length === 0)
          throw new LinkFault('auth', error.message, { delivered: error.delivered, data: { ...data, token: sent } });
        const message = `it wants a token with more scopes (${lacking.join(', ')})`;
        throw new LinkFault('scope', message, { delivered: false, data: { ...data, scopes: lacking, token: sent } });
      }
    },
  };
}

function challengeIn({ data }: LinkFault): Challenge | null {
  const { challenge } = data;
  if (!isJsonObject(challenge)) return null;
  const { error, scopes, resourceMetadata } = challenge;
  return {
    error: typeof error === 'string' ? error : null,
    scopes: Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : [],
    resourceMetadata: typeof resourceMetadata === 'string' ? resourceMetadata : null,
  };
}
