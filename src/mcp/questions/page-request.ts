import type { JsonObject } from '../../json/json.ts';
import type { McpUrlElicitation } from './answers.ts';

/** A question of this kind wants nothing typed. */
const NOTHING: JsonObject = { type: 'object', properties: {} };

/**
 * Reads a server's wish that a person opens a page; null where it names no page that a person could be sent to: only https,
 * or http on this machine, and nobody's name and password in it. The address is as a browser writes it, in plain ASCII.
 */
export function readPageRequest(server: string, { message, url }: JsonObject): McpUrlElicitation | null {
  if (typeof message !== 'string' || typeof url !== 'string' || !URL.canParse(url)) return null;
  const { href, origin, protocol, hostname, username, password } = new URL(url);
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback)) return null;
  if (username !== '' || password !== '') return null;
  return { mode: 'url', server, message, url: href, origin, schema: NOTHING };
}
