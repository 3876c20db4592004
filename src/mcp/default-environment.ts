const POSIX = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];
const WINDOWS =
  'APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP USERNAME USERPROFILE'.split(
    ' ',
  );

/**
 * The part of an environment that every server gets: where programs and the home folder are, and nothing that could be
 * a secret. A value that begins with `()` is a shell function and is left out.
 */
export function defaultEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
): Readonly<Record<string, string>> {
  const names = platform === 'win32' ? WINDOWS : POSIX;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined || value.startsWith('()') ? [] : [[name, value]];
    }),
  );
}
