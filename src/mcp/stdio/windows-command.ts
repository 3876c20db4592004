/** How a program is started: what `spawn` gets. */
export interface SpawnPlan {
  readonly command: string;
  readonly args: readonly string[];
  /** The arguments are quoted already; Windows must hand them on as they are. */
  readonly verbatim: boolean;
}

/** What the plan depends on. */
export interface WindowsLookup {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isFile: (path: string) => boolean;
}

const META = /[()\][%!^"`<>&|;, *?]/g;

/**
 * Finds out how Windows can start a command as other systems do: `npx` is the batch file `npx.cmd` there, which only
 * `cmd.exe` runs, with arguments quoted twice (once for the program, once for the shell and the script that hands them
 * on). Programs that are no batch file are started directly.
 */
export function planWindowsCommand(command: string, args: readonly string[], lookup: WindowsLookup): SpawnPlan {
  const found = find(command, lookup);
  if (found === null || !/\.(?:cmd|bat)$/i.test(found)) return { command: found ?? command, args, verbatim: false };
  const line = [escapeMeta(found), ...args.map((arg) => escapeMeta(escapeMeta(quote(arg))))].join(' ');
  return {
    command: lookup.env.COMSPEC ?? lookup.env.ComSpec ?? 'cmd.exe',
    args: ['/d', '/s', '/c', `"${line}"`],
    verbatim: true,
  };
}

function find(command: string, { env, isFile }: WindowsLookup): string | null {
  const extensions = (env.PATHEXT ?? '.COM;.EXE;.BAT;.CMD').split(';').filter((extension) => extension !== '');
  const hasExtension = extensions.some((extension) => command.toLowerCase().endsWith(extension.toLowerCase()));
  const folders = /[\\/]/.test(command)
    ? ['']
    : (env.PATH ?? env.Path ?? '').split(';').filter((folder) => folder !== '');
  for (const folder of folders) {
    const base = folder === '' ? command : `${folder.replace(/[\\/]$/, '')}\\${command}`;
    const candidates = hasExtension ? [base] : extensions.map((extension) => base + extension.toLowerCase());
    const match = candidates.find(isFile);
    if (match !== undefined) return match;
  }
  return null;
}

/** Quotes one argument as the C runtime of Windows reads it: backslashes count only before a double quote. */
function quote(arg: string): string {
  return `"${arg.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`;
}

function escapeMeta(text: string): string {
  return text.replaceAll(META, '^$&');
}
