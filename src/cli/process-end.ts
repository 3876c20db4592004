import { setTimeout as wait } from 'node:timers/promises';

/** A reader that takes nothing must not keep the process forever. */
const FLUSH_MS = 5_000;

/** Ends the process with an exit code, after what was written to its pipes has been taken. */
export async function endProcess(code: number): Promise<void> {
  process.exitCode = code;
  const flushed = Promise.all([flush(process.stdout), flush(process.stderr)]);
  await Promise.race([flushed, wait(FLUSH_MS, undefined, { ref: false })]);
  process.exit(code);
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}
