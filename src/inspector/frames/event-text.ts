/** A server-sent event as it travels. `id` null: a client that reconnects continues after the one before it. `json` is one line. */
export function eventText(id: number | null, json: string): string {
  return id === null ? `data: ${json}\n\n` : `id: ${id}\ndata: ${json}\n\n`;
}

/** Values as events without a number. */
export function eventBytes(values: readonly unknown[]): Uint8Array {
  return encoder.encode(values.map((value) => eventText(null, JSON.stringify(value))).join(''));
}

const encoder = new TextEncoder();
