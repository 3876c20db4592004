import { processEnvironment } from '../../models/endpoint/environment.ts';
import { decoded } from '../../parsing/schema/fit-context.ts';
import { authSecrets } from './auth.ts';
import { expandVariables } from './environment-variables.ts';

/** Not `GIT_AUTHOR_NAME`, `MAX_TOKENS`, `TOKENIZER` or `KEYBOARD`: what they hold would be missing from ordinary text. */
const SECRET_NAME =
  /auth(?!or(?!i[sz]))|key(?!board|word)|(?<!max\w*)token(?!i[sz])|secret|password|passwd|credential|cookie/i;

/**
 * The secrets in the configuration of MCP servers: environment variables and headers whose names suggest one, passwords
 * in URLs, and what `auth` holds. `Bearer abc` counts as a whole and by its second word. Variables are looked up.
 */
export function serverSecrets(servers: { readonly [name: string]: object }): readonly string[] {
  return Object.values(servers).flatMap((config) => {
    const url: unknown = Reflect.get(config, 'url');
    return [
      ...secretValues(Reflect.get(config, 'env')),
      ...secretValues(Reflect.get(config, 'headers')),
      ...authSecrets(Reflect.get(config, 'auth')).map(expanded),
      ...(typeof url === 'string' ? splitAddress(expanded(url)).secrets : []),
    ];
  });
}

/** The texts among named values that are secret by their names. */
export function secretValues(values: unknown): readonly string[] {
  if (typeof values !== 'object' || values === null) return [];
  return Object.entries(values).flatMap(([name, value]) => {
    if (typeof value !== 'string' || !SECRET_NAME.test(name)) return [];
    const text = expanded(value);
    const [, token] = /^\w+\s+(\S+)$/.exec(text) ?? [];
    return token === undefined ? [text] : [text, token];
  });
}

/** An address without the user and password in it, and the header that says the same. */
interface SplitAddress {
  readonly url: string;
  /** `Basic …`; null if the URL names no user. */
  readonly authorization: string | null;
  readonly secrets: readonly string[];
}

/**
 * Takes user and password out of `https://user:password@host`: `fetch` rejects such a URL, and repeats it in its error.
 * What is not a URL is returned unchanged.
 */
export function splitAddress(url: string): SplitAddress {
  if (!URL.canParse(url)) return { url, authorization: null, secrets: [] };
  const address = new URL(url);
  const { username, password } = address;
  if (username === '' && password === '') return { url, authorization: null, secrets: [] };
  const [user, word] = [decoded(username), decoded(password)];
  const basic = Buffer.from(`${user}:${word}`).toString('base64');
  [address.username, address.password] = ['', ''];
  const secrets = [...new Set([password, word, basic])].filter((text) => text !== '');
  return { url: address.href, authorization: `Basic ${basic}`, secrets };
}

/** A URL in a form that is safe to show, even if it cannot be parsed: `https://***@host`. */
export function shownAddress(url: string): string {
  return url.replace(/(:?\/\/)[^/?#]*@/, '$1***@');
}

function expanded(text: string): string {
  const result = expandVariables(text, processEnvironment());
  return result.ok ? result.text : text;
}
