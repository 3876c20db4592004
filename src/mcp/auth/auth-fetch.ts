import { type CheckedAuth, type TokenSource, isLoopback } from '../config/auth.ts';
import { McpError } from '../../actors/mcp/mcp-calls.ts';
import { LinkFault } from '../wire/faults.ts';
import { type JsonObject, isJsonObject, parsedText } from '../../json/json.ts';
import { isError } from '../../json/to-json.ts';

/** Why signing in failed. Programs look at `kind`; the words hold no code, token or secret. */
type AuthFaultKind =
  | 'unsafe' // an address or answer that must not be trusted
  | 'wrong' // the authorization server cannot be used as it is
  | 'refused' // the authorization server refuses a request, for no reason of those below
  | 'unreachable' // no connection, or it broke
  | 'busy' // 429 and 5xx
  | 'invalid-grant' // the token or code does not hold any more
  | 'invalid-client'; // our registration or credentials do not

/** A failed step of signing in. */
export class AuthFault extends Error {
  override readonly name = 'AuthFault';
  readonly kind: AuthFaultKind;

  constructor(kind: AuthFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

const REQUEST_MS = 10_000;
const MOST_BYTES = 256 * 1024;

/** What requests to authorization servers may reach, and until when. */
export interface AuthNet {
  readonly signal: AbortSignal;
  /** Whether http on loopback will do: only where the MCP server is on loopback, too. */
  readonly allowsLoopback: boolean;
}

/** Throws unless an address is https, or loopback where that is allowed. */
export function checkAddress(
  what: string,
  address: string | URL,
  { allowsLoopback }: Pick<AuthNet, 'allowsLoopback'>,
): void {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url?.protocol === 'https:') return;
  if (url?.protocol === 'http:' && isLoopback(url) && allowsLoopback) return;
  const shown = url === null ? 'no address' : `${url.protocol}//${url.host}`;
  throw new AuthFault('unsafe', `${what} must be https, and is ${shown}`);
}

/**
 * A `fetch` for authorization servers: https alone, no body over 256 KB, ten seconds a request. What may pass by itself
 * (no connection, 429, 5xx) is thrown as an {@link AuthFault}, not returned. Members of an answer that are null or empty
 * are left out: many servers write those for what they do not have.
 */
export function authFetch(net: AuthNet): AuthFetch {
  return async (address, init) => {
    checkAddress('the address of an authorization server', address, net);
    const { origin } = new URL(address);
    const signal = AbortSignal.any([net.signal, AbortSignal.timeout(REQUEST_MS)]);
    try {
      const response = await fetch(address, { ...init, redirect: 'manual', signal });
      if (response.status === 429 || response.status >= 500) {
        await response.body?.cancel();
        throw new AuthFault('busy', `${origin} answered with HTTP ${response.status}`);
      }
      const body = withoutEmpty(await readBody(response, origin));
      const { status, headers } = response;
      return new Response([204, 205, 304].includes(status) ? null : body, { status, headers });
    } catch (error) {
      if (error instanceof AuthFault) throw error;
      throw new AuthFault('unreachable', `${origin} cannot be reached (${reasonOf(error)})`);
    }
  };
}

/** A `fetch` whose answers have been read already. */
export type AuthFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

function withoutEmpty(body: Uint8Array<ArrayBuffer>): BodyInit {
  const value = parsedText(new TextDecoder().decode(body));
  if (!isJsonObject(value)) return body;
  return JSON.stringify(
    Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null && member !== '')),
  );
}

/** The JSON object in an answer; null where it is anything else. The answer can still be read. */
export async function objectIn(response: Response): Promise<JsonObject | null> {
  const value = parsedText(await response.clone().text());
  return isJsonObject(value) ? value : null;
}

async function readBody(response: Response, origin: string): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.length;
    if (size > MOST_BYTES) throw new AuthFault('wrong', `${origin} answered with more than ${MOST_BYTES / 1024} KB`);
    pieces.push(new Uint8Array(piece));
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

function reasonOf(error: unknown): string {
  for (let at = error, depth = 0; isError(at) && depth < 5; depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    if (at.name === 'TimeoutError') return 'no answer in time';
    at = at.cause;
  }
  return 'the connection broke';
}

/** The token of a function of the caller's. What goes wrong there is a refusal: no other token is to be had. */
export async function tokenFrom(get: TokenSource): Promise<string> {
  const refused = (message: string, cause?: unknown): LinkFault =>
    new LinkFault('auth', message, { delivered: false, data: { status: 401 }, cause });
  const token: unknown = await Promise.resolve()
    .then(get)
    .catch((cause: unknown) => {
      throw refused('the function that gives its token failed', cause);
    });
  if (typeof token === 'string' && /^[\x21-\x7E]+$/.test(token)) return token;
  throw refused('the function that gives its token gave none');
}

/** Only a person can help. */
export function loginRequired(server: string, why: string): McpError {
  return new McpError('login-required', server, `MCP server '${server}': ${why}.`);
}

/** What went wrong while signing in, in the codes of MCP. Anything other than our faults is returned unchanged. */
export function loginError(server: string, auth: CheckedAuth, error: unknown): unknown {
  const withCode = (code: McpError['code'], fault: Error): McpError =>
    new McpError(code, server, `MCP server '${server}': ${fault.message}.`, fault);
  if (error instanceof LinkFault) return withCode('auth-required', error);
  if (!(error instanceof AuthFault)) return error;
  const byPerson = auth.type === 'oauth';
  switch (error.kind) {
    case 'unsafe':
    case 'wrong':
    case 'refused':
      return withCode('auth-failed', error);
    case 'unreachable':
    case 'busy':
      return withCode('not-connected', error);
    case 'invalid-client':
      return byPerson && auth.clientId === undefined
        ? loginRequired(server, error.message)
        : withCode('auth-required', error);
    case 'invalid-grant':
      return byPerson ? loginRequired(server, error.message) : withCode('auth-required', error);
  }
}
