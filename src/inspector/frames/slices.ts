/** How long the event loop may be held at a time, in milliseconds: an agent may run in it. */
const SLICE_MS = 8;

/** Does a piece of work again and again until it says that nothing is left, and lets others run in between. */
export async function inSlices(work: () => boolean, stopped: () => boolean): Promise<void> {
  for (;;) {
    const until = performance.now() + SLICE_MS;
    while (performance.now() < until) if (!work()) return;
    await new Promise<void>((resolve) => void setImmediate(resolve));
    if (stopped()) return;
  }
}
