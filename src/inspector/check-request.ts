import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Why a request is not answered. */
export interface Refusal {
  readonly status: 401 | 403 | 405 | 415;
  readonly message: string;
}

/** Paths that hold nothing of anybody's: the page's own files, the same for all who install the package. */
const PUBLIC = /^\/assets\//;

/**
 * Refuses whatever does not come from the page itself or from somebody who was given the token. The host is checked
 * because a name that somebody else resolves to 127.0.0.1 reaches this server too; the origin, because any web page may
 * send requests here.
 */
export function checkRequest(
  request: IncomingMessage,
  url: URL,
  { port, token }: { readonly port: number; readonly token: string },
): Refusal | null {
  const { host, origin, authorization } = request.headers;
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  if (host === undefined || !hosts.includes(host.toLowerCase()))
    return { status: 403, message: `The inspector answers only as ${hosts.join(' or ')}.` };
  if (origin !== undefined && !hosts.some((one) => origin.toLowerCase() === `http://${one}`))
    return { status: 403, message: 'The inspector answers no other origin.' };
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation(request))
    return { status: 403, message: 'The inspector answers no other site.' };
  if (request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'POST')
    return { status: 405, message: 'Only GET and POST are answered.' };
  if (request.method !== 'POST' && PUBLIC.test(url.pathname)) return null;
  const given = authorization?.replace(/^Bearer /i, '') ?? url.searchParams.get('token') ?? '';
  if (!sameText(given, token))
    return {
      status: 401,
      message: 'The token is missing or wrong. Open the address that was printed, with its token.',
    };
  if (request.method === 'POST' && !/^application\/(?:json|x-ndjson)\b/i.test(request.headers['content-type'] ?? ''))
    return { status: 415, message: 'Send JSON, with the header content-type: application/json.' };
  return null;
}

/** Somebody follows a link to the page; what they see is their own, and the token was in the link. */
function isNavigation(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers['sec-fetch-mode'] === 'navigate';
}

function sameText(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}
