import type { Environment } from '../../models/endpoint/environment.ts';

/** A text with its variables replaced, or the name of the first one that is not set. */
type Expanded = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly missing: string };

const VARIABLE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces `${VAR}` (also `${env:VAR}`) and `${VAR:-default}` by values of the environment. The default stands in for a
 * variable that is unset or empty. What a variable holds is not expanded again; `$VAR` without braces stays as it is.
 */
export function expandVariables(text: string, env: Environment): Expanded {
  const missing: string[] = [];
  const expanded = text.replaceAll(VARIABLE, (_whole, variable: string, fallback: string | undefined) => {
    const value = env[variable];
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) missing.push(variable);
    return value ?? '';
  });
  const [first] = missing;
  return first === undefined ? { ok: true, text: expanded } : { ok: false, missing: first };
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
