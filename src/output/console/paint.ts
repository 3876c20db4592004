/** The styles of the console. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Puts a style on a text, or leaves it unchanged if colours are off. */
export type Paint = (style: Style, text: string) => string;

const CODES: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** Makes the paint of a terminal. Every line is closed on its own, so that a cut never bleeds. */
export function painter(color: boolean): Paint {
  if (!color) return (_style, text) => text;
  return (style, text) => {
    const [open, close] = CODES[style];
    return text === '' ? '' : `\u001b[${open}m${text}\u001b[${close}m`;
  };
}
