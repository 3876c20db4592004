import { spawn } from 'node:child_process';

/** Opens a URL in the user's browser, as the system does it. Nothing happens if there is none. */
export function openBrowser(url: string): void {
  const [command, args] = commandFor(process.platform, url);
  const child = spawn(command, [...args], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}

/** The command that opens an address. */
export function commandFor(
  platform: NodeJS.Platform,
  url: string,
): readonly [command: string, args: readonly string[]] {
  if (platform === 'darwin') return ['open', [url]];
  // Not `start`: it is a word of a shell, which would read the address.
  if (platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', url]];
  return ['xdg-open', [url]];
}
