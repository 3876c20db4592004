/** A fresh run id: 10 characters of time, so that ids sort by it, and 10 of chance. Names a file on every system. */
export function newRunId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  const chance = [...bytes].map((byte) => (byte % 32).toString(32)).join('');
  return `${Date.now().toString(32).padStart(10, '0')}-${chance}`;
}
