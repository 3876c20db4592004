/** What waits to be written, for each stream on which a prompt stands. */
const waiting = new WeakMap<object, (() => void)[]>();

/** From now on what others write to this stream waits, so that nothing comes between a prompt and its answer. */
export function holdWrites(stream: object): () => void {
  const writes: (() => void)[] = [];
  waiting.set(stream, writes);
  return () => {
    waiting.delete(stream);
    for (const write of writes) write();
  };
}

/** Writes at once, or when the prompt that stands on this stream has been answered. */
export function writeWhenFree(stream: object, write: () => void): void {
  const writes = waiting.get(stream);
  if (writes === undefined) write();
  else writes.push(write);
}

/** Whether a prompt stands on this stream. */
export function isHeld(stream: object): boolean {
  return waiting.has(stream);
}
