import type { ActReply } from '../frames/protocol.ts';

/** Takes one event of Stately's protocol, or a list of them, as JSON; what is none is counted and left out. */
export function receiveText(text: string, receive: (event: unknown) => boolean): ActReply {
  const given = jsonOf(text);
  const events: readonly unknown[] = Array.isArray(given) ? given : [given];
  const refused = events.filter((event) => !receive(event)).length;
  if (refused === 0) return { ok: true };
  return { ok: false, message: `${refused} of ${events.length} are no events of Stately's inspect protocol.` };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
