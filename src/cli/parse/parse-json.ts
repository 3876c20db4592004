/** What `JSON.stringify` leaves as it is, and a terminal obeys. */
const OBEYED = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A value as JSON on one line, harmless for a terminal: what a terminal would obey is written as an escape. */
export function machineJson(value: object): string {
  return JSON.stringify(value).replace(OBEYED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
