import { type Environment, processEnvironment } from '../../models/endpoint/environment.ts';
import { decoded } from '../../parsing/schema/fit-context.ts';
import { authSecrets } from './auth.ts';

/** A text with its variables replaced, or the name of the first one that is not set. */
type Expanded = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly missing: string };

const VARIABLE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces `${VAR}` (also `${env:VAR}`) and `${VAR:-default}` by values of the environment. The default stands in for a
 * variable that is unset or empty. What a variable holds is not expanded again; `$VAR` without braces stays as it is.
 */
export function expandVariables(text: string, env: Environment): Expanded {
  const missing: string[] = [];
  const filled = text.replaceAll(VARIABLE, (_whole, variable: string, fallback: string | undefined) => {
    const value = env[variable];
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) missing.push(variable);
    return value ?? '';
  });
  const [first] = missing;
  return first === undefined ? { ok: true, text: filled } : { ok: false, missing: first };
}

/** All variables that a text names and that are not set; those with a default are not missed. */
export function missingVariables(text: string, env: Environment): readonly string[] {
  return [...text.matchAll(VARIABLE)].flatMap(([, name = '', fallback]) =>
    fallback === undefined && env[name] === undefined ? [name] : [],
  );
}

/** All variables that a text names, set or not. */
export function namedVariables(text: string): readonly string[] {
  return [...text.matchAll(VARIABLE)].map(([, name = '']) => name);
}

const POSIX = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];
const WINDOWS =
  'APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP USERNAME USERPROFILE'.split(
    ' ',
  );
/** How the network is reached: without them `npx` and `uvx` find no server behind a proxy. Some read the one case, some the other. */
const NETWORK = 'HTTP_PROXY HTTPS_PROXY NO_PROXY NPM_CONFIG_REGISTRY'.split(' ');
const ROUTES = [...NETWORK, ...NETWORK.map((name) => name.toLowerCase()), 'NODE_EXTRA_CA_CERTS', 'NODE_USE_ENV_PROXY'];

/**
 * The part of an environment that every server gets: where programs and the home folder are, how the network is reached, and
 * nothing that could be a secret. A value that begins with `()` is a shell function and is left out.
 */
export function defaultEnvironment(env: Environment, platform: NodeJS.Platform): Readonly<Record<string, string>> {
  const names = [...(platform === 'win32' ? WINDOWS : POSIX), ...ROUTES];
  const withheld = withheldRoutes(env);
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined || value.startsWith('()') || withheld.includes(name) ? [] : [[name, value]];
    }),
  );
}

/** The names among those that hold a password, as in `http://user:password@proxy`, and are kept back for it. */
export function withheldRoutes(env: Environment): readonly string[] {
  return ROUTES.filter((name) => /\/\/[^/?#]*@/.test(env[name] ?? ''));
}

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
