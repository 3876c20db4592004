const POSIX = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];
const WINDOWS =
  'APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP USERNAME USERPROFILE'.split(
    ' ',
  );
/** How the network is reached: without them `npx` and `uvx` find no server behind a proxy. Some read the one case, some the other. */
const NETWORK = 'HTTP_PROXY HTTPS_PROXY NO_PROXY NPM_CONFIG_REGISTRY'.split(' ');
const ROUTES = [...NETWORK, ...NETWORK.map((name) => name.toLowerCase()), 'NODE_EXTRA_CA_CERTS', 'NODE_USE_ENV_PROXY'];

type Environment = Readonly<Record<string, string | undefined>>;

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
