/**
 * Prints what to do if this version of Node is too old, or nothing if it is supported. Written in the JavaScript of ten
 * years ago, for the old versions that have to run it.
 */
export function nodeVersionProblem(version: string): string | null {
  const parts = version.replace(/^v/, '').split('.');
  const major = Number(parts[0]);
  const minor = Number(parts[1]);
  if (major > 22 || (major === 22 && minor >= 18)) return null;
  return (
    'signalbox needs Node 22.18 or newer, and this is Node ' +
    version.replace(/^v/, '') +
    '. Install a newer one from https://nodejs.org and start it again.'
  );
}
