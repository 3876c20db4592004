import { timingSafeEqual, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Why a request is not answered. */
export interface RequestRefusal {
  readonly status: 401 | 403 | 404 | 405 | 415 | 503;
  readonly message: string;
}

/** What requests are checked against. */
export interface Gate {
  readonly port: number;
  /** Names that the server has elsewhere, in small letters, with or without a port: those of a proxy or a tunnel. */
  readonly allowedHosts: readonly string[];
  /** Opens everything. */
  readonly token: string;
  /** Opens {@link SEND_PATH} and nothing else. */
  readonly sendToken: string;
}

/** Where other apps report what their actors do. Nothing is to be read there. */
export const SEND_PATH = '/api/stately';

/** Paths without private data: the page's own files, the same in every installation. */
const PUBLIC = /^\/assets\//;

/**
 * Rejects requests that do not come from the page itself or from someone with the token. The host is checked because any
 * foreign name that resolves to 127.0.0.1 reaches this server too; the origin, because any web page may send requests here.
 */
export function checkRequest(request: IncomingMessage, url: URL, gate: Gate): RequestRefusal | null {
  const { origin } = request.headers;
  const wrongHost = checkHost(request, gate);
  if (wrongHost !== null) return wrongHost;
  if (origin !== undefined && !isKnownOrigin(origin.toLowerCase(), gate))
    return { status: 403, message: 'The inspector does not accept requests from other origins.' };
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation(request))
    return { status: 403, message: 'The inspector does not accept requests from other sites.' };
  if (request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'POST')
    return { status: 405, message: 'Only GET and POST are answered.' };
  if (request.method !== 'POST' && PUBLIC.test(url.pathname)) return null;
  if (!sameText(tokenIn(request, url), gate.token) && !isSender(request, url, gate) && !isReload(request, url, gate))
    return {
      status: 401,
      message: 'The token is missing or wrong. Open the address that was printed, with its token.',
    };
  if (request.method === 'POST' && !/^application\/(?:json|x-ndjson)\b/i.test(request.headers['content-type'] ?? ''))
    return { status: 415, message: 'Send JSON, with the header content-type: application/json.' };
  return null;
}

/**
 * The same for a WebSocket, with one exception: the token for sending may come from a page of any origin, since apps
 * that are watched are such pages. A browser adds nothing to the request that could replace that token, and it gives no
 * read access. The inspector's own token keeps its rules: no other page should have it.
 */
export function checkUpgrade(request: IncomingMessage, url: URL, gate: Gate): RequestRefusal | null {
  const refused = checkHost(request, gate) ?? (isSender(request, url, gate) ? null : checkRequest(request, url, gate));
  if (refused !== null || url.pathname === SEND_PATH) return refused;
  return { status: 404, message: `The only WebSocket is ${SEND_PATH}.` };
}

function checkHost({ headers: { host } }: IncomingMessage, gate: Gate): RequestRefusal | null {
  const hosts = hostsOf(gate);
  if (host !== undefined && (hosts.includes(host.toLowerCase()) || isAllowed(host.toLowerCase(), gate))) return null;
  const names = [...hosts, ...gate.allowedHosts].join(' or ');
  return { status: 403, message: `The inspector is only reachable as ${names}. Its option allowedHosts adds names.` };
}

function hostsOf({ port }: Gate): readonly string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`];
}

function isAllowed(host: string, { allowedHosts }: Gate): boolean {
  return allowedHosts.includes(host) || allowedHosts.includes(host.replace(/:\d+$/, ''));
}

/** A proxy may speak TLS, and keep its own name from us. */
function isKnownOrigin(origin: string, gate: Gate): boolean {
  return hostsOf(gate).some((one) => origin === `http://${one}`) || isAllowed(origin.replace(/^https?:\/\//, ''), gate);
}

function isSender(request: IncomingMessage, url: URL, { sendToken }: Gate): boolean {
  return url.pathname === SEND_PATH && sameText(tokenIn(request, url), sendToken);
}

function tokenIn({ headers: { authorization } }: IncomingMessage, url: URL): string {
  return authorization?.replace(/^Bearer /i, '') ?? url.searchParams.get('token') ?? '';
}

/** Someone follows a link to the page; the token was in the link. */
function isNavigation(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers['sec-fetch-mode'] === 'navigate';
}

/**
 * A page that was opened with the token is loaded again without it: the token has left the address. The cookie opens the
 * page's own HTML and nothing else, because a browser sends it to every port of this host.
 */
function isReload(request: IncomingMessage, url: URL, gate: Gate): boolean {
  const kept = request.headers.cookie?.split(/; */).find((one) => one.startsWith(`${cookieName(gate.port)}=`));
  return (
    url.pathname === '/' && kept !== undefined && sameText(kept.slice(kept.indexOf('=') + 1), reloadToken(gate.token))
  );
}

/** The header that lets a page be loaded again without its token. */
export function reloadCookie({ port, token }: Gate): string {
  return `${cookieName(port)}=${reloadToken(token)}; Path=/; HttpOnly; SameSite=Strict`;
}

function cookieName(port: number): string {
  return `signalbox-page-${port}`;
}

function reloadToken(token: string): string {
  return createHmac('sha256', token).update('signalbox inspector: page only').digest('base64url');
}

function sameText(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/**
 * The token of apps that may report what happens and do nothing else. It follows from the inspector's own token without
 * revealing it, so where that is chosen, the address for senders stays the same too.
 */
export function sendTokenOf(token: string): string {
  return createHmac('sha256', token).update('signalbox inspector: send only').digest('base64url');
}

/**
 * The headers of every response of the inspector: only the page's own files run or are shown, nothing is sent
 * elsewhere, the page cannot be framed, and no cache keeps it. No CORS header is ever sent.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), clipboard-read=()',
  'cache-control': 'no-store',
};
