import { readdirSync, readFileSync } from 'node:fs';

/** The processes of which the command line names a folder, on Linux; a server that works on it is one. */
export function processesNaming(folder: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine)
    .filter((line) => line.includes(folder));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    // It has ended between the listing and the reading.
    return '';
  }
}
