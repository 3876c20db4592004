/** What a server demands, by its `WWW-Authenticate` header (RFC 6750, RFC 9728). */
export interface Challenge {
  /** `invalid_token`, `insufficient_scope`; null where it does not say. */
  readonly error: string | null;
  /** The scopes that are needed, by name. */
  readonly scopes: readonly string[];
  /** Where the server describes itself; null where it does not say. */
  readonly resourceMetadata: string | null;
}

const MOST_SCOPES = 50;

/** Reads the Bearer challenge of an answer; null when it has none. */
export function readChallenge(headers: { get(name: string): string | null }): Challenge | null {
  const header = headers.get('www-authenticate');
  const bearer = header === null ? null : /(?:^|,)\s*bearer\b/i.exec(header);
  if (header === null || bearer === null) return null;
  const parameters = new Map<string, string>();
  const rest = header.slice(bearer.index + bearer[0].length, bearer.index + 8000);
  for (const [, name = '', quoted, bare] of rest.matchAll(/([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi)) {
    const key = name.toLowerCase();
    if (!parameters.has(key))
      parameters.set(key, quoted === undefined ? (bare ?? '') : quoted.replaceAll(/\\(.)/g, '$1'));
  }
  return {
    error: parameters.get('error') ?? null,
    scopes: scopesOf(parameters.get('scope')),
    resourceMetadata: parameters.get('resource_metadata') ?? null,
  };
}

/** A list of scopes as OAuth writes it. What is not a scope is left out. */
export function scopesOf(list: string | undefined): readonly string[] {
  const names = (list ?? '').split(' ').filter((scope) => /^[\x21\x23-\x5B\x5D-\x7E]{1,200}$/.test(scope));
  return [...new Set(names)].slice(0, MOST_SCOPES);
}
