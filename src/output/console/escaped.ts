/** Everything that a terminal obeys instead of showing: control characters but tab and newline, and text direction marks. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Makes text of a model or a tool harmless for a terminal: what would move the cursor, recolour or reorder the screen
 * becomes a visible sign. Line breaks stay, tabs become spaces.
 */
export function escaped(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(/\t/g, '  ').replace(OBEYED, visible);
}

/** Unicode has a picture for each of the first 32 control characters, and one for delete. */
function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '␡' : `<${code.toString(16).padStart(4, '0')}>`;
}
