import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Kills this process once so many lines of a file are written; what is being written then stays behind in part: with
 * `torn`, half of the next line too. Works below the code under test, where the system's own calls are.
 */
export function killAtLine(path: string, lines: number, torn: boolean): void {
  const { openSync, writeSync } = fs;
  const files = new Map<number, string>();
  let written = 0;
  const open = (...args: Parameters<typeof openSync>): number => {
    const file = openSync(...args);
    files.set(file, String(args[0]));
    return file;
  };
  const write = (file: number, data: Uint8Array | string, ...rest: readonly never[]): number => {
    if (files.get(file) !== path) return Reflect.apply(writeSync, fs, [file, data, ...rest]);
    const text = typeof data === 'string' ? data : Buffer.from(data).toString('utf8');
    const whole = text.split('\n').slice(0, -1);
    if (written + whole.length < lines) {
      written += whole.length;
      return Reflect.apply(writeSync, fs, [file, data, ...rest]);
    }
    const kept = whole.slice(0, lines - written).map((line) => `${line}\n`);
    const next = whole[lines - written] ?? '{"t":"outcome","at":12,"id":"age';
    writeSync(file, kept.join('') + (torn ? next.slice(0, Math.ceil(next.length / 2)) : ''));
    process.kill(process.pid, 'SIGKILL');
    // The signal comes at once, but not in the middle of this call.
    for (;;);
  };
  Object.assign(fs, { openSync: open, writeSync: write });
  syncBuiltinESMExports();
}
