/** One event of a stream. `id` null: whoever reconnects goes on from the one before it. */
export interface StreamItem {
  readonly id: number | null;
  readonly data: unknown;
}

/** A server-sent event as it travels: its data is JSON on one line. */
export function eventText({ id, data }: StreamItem): string {
  const line = `data: ${JSON.stringify(data)}\n\n`;
  return id === null ? line : `id: ${id}\n${line}`;
}

/** Some of them, one after the other. */
export function eventBytes(items: readonly StreamItem[]): Uint8Array {
  return encoder.encode(items.map(eventText).join(''));
}

const encoder = new TextEncoder();
