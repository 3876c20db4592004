/** Control characters but tab and line feed, halves of pairs, and what is not seen: all but what emoji and scripts are made of. */
export const UNSEEN =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- These are what is looked for.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff]|(?<=[ -~])[\u200d\ufe00-\ufe0f](?!\u20e3)|(?<=[\u200d\ufe00-\ufe0f])[\ufe00-\ufe0f]|(?<![\u2801-\u28ff]\u2800{0,80})\u2800(?!\u2800{0,80}[\u2801-\u28ff])|(?<!\p{Script=Han})[\u{e0100}-\u{e01ef}]|(?<!\u{1f3f4}[\u{e0020}-\u{e007e}]{0,6})[\u{e0000}-\u{e007f}]/gu;

/**
 * Makes text of a model or a tool harmless for a terminal: what would move the cursor, recolour or reorder the screen
 * becomes a visible sign, and so does what would not be seen. Line breaks stay, tabs become spaces.
 */
export function escaped(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(/\t/g, '  ').replace(UNSEEN, visible);
}

/** The same on one line: for names in a list, in which a line break could begin a row that no one wrote. */
export function oneLine(text: string): string {
  return escaped(text).replaceAll('\n', '␊');
}

/** Unicode has a picture for each of the first 32 control characters, and one for delete. */
function visible(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '␡' : `<${code.toString(16).padStart(4, '0')}>`;
}

/** Characters that `JSON.stringify` leaves alone and a terminal interprets. */
const OBEYED = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A value as JSON on one line, harmless for a terminal: what a terminal would obey is written as an escape. */
export function machineJson(value: object | undefined): string {
  return JSON.stringify(value).replace(OBEYED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
