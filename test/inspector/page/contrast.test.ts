import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TONES } from '../../../src/inspector/frames/protocol.ts';

const css = readFileSync(new URL('../../../src/inspector/page/styles/tokens.css', import.meta.url), 'utf8');

/** The colours of a theme: those of the first block, and what the light theme has in their place. */
function coloursOf(theme: 'dark' | 'light'): ReadonlyMap<string, string> {
  const [dark = '', light = ''] = css.split(":root[data-theme='light']");
  const blocks = theme === 'dark' ? [dark] : [dark, light.slice(0, light.indexOf('}'))];
  return new Map(
    blocks.flatMap((block) =>
      [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name = '', at = '']) => [name, at]),
    ),
  );
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

test.each(['dark', 'light'] as const)('in the %s theme all text can be read, on lanes too', (theme) => {
  const colours = coloursOf(theme);
  const of = (name: string): string => colours.get(name) ?? '#000000';
  const weak = ['work', ...TONES, 'ink', 'ink-2', 'ink-3'].flatMap((name) =>
    ['sunk', 'panel', 'bg', 'raised'].flatMap((on) => (contrast(of(name), of(on)) < 4.5 ? [`${name} on ${on}`] : [])),
  );

  expect(weak).toEqual([]);
});
