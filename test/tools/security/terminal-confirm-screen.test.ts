import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeCharacters } from '../../../src/terminal/boxed-text.ts';
import { type Drawing, USUAL, openScreen } from '../../support/screen.ts';
import { APPROVAL, BAR, hostileText, ownWords } from './prompt-laws.ts';
import { fakeTerminal, question } from './terminal.ts';
import { cases } from '../../support/soak.ts';

const SEED = 20_261_122;
const SIZES = [
  { columns: 40, rows: 30 },
  { columns: 80, rows: 24 },
  { columns: 120, rows: 50 },
];
/** The whole question has no room here, and its upper part scrolls away. */
const NARROW = { columns: 23, rows: 20 };
const DRAWINGS: readonly (readonly [string, Drawing])[] = [
  ['a usual terminal', USUAL],
  ['a terminal with wide letters', { wide: true, marksApart: false, eager: false }],
  ['a console that puts marks beside letters', { wide: false, marksApart: true, eager: false }],
  ['a terminal that wraps early', { wide: true, marksApart: true, eager: true }],
];

/** A prompt on a screen of a size. */
function ask(
  more: Parameters<typeof question>[0],
  size: { readonly columns: number; readonly rows: number },
  drawing = USUAL,
) {
  const terminal = fakeTerminal(size);
  const screen = openScreen(size, drawing);
  let drawn = 0;
  const draw = (): void => {
    screen.write(terminal.screen().slice(drawn));
    drawn = terminal.screen().length;
  };
  const decision = terminal.confirm(question(more));
  draw();
  return {
    decision,
    screen,
    type: (keys: string): void => {
      terminal.type(keys);
      draw();
    },
    /** The terminal wraps first, the program hears of it later. */
    resize: (to: { readonly columns: number; readonly rows: number }): void => {
      screen.resize(to);
      terminal.resize(to.columns, to.rows);
      draw();
    },
  };
}

const lastRow = (rows: readonly string[]): string | undefined => rows.findLast((row) => row !== '');

/** What a hostile server says of a tool. */
const hostileSource = fc.record({
  server: hostileText,
  address: hostileText,
  serverTool: hostileText,
  title: hostileText,
  description: hostileText,
  annotations: fc.constant({ readOnlyHint: true }),
  changes: fc.option(
    fc.array(fc.record({ what: fc.constant('description' as const), before: hostileText, after: hostileText }), {
      maxLength: 4,
    }),
    { nil: undefined },
  ),
});

const ownCall = fc.record({
  tool: fc.oneof(hostileText, fc.constant('write_file')),
  reason: fc.oneof(hostileText, fc.constant('It asks.')),
  args: fc.oneof(
    fc.record({ path: fc.constant('a.txt'), text: hostileText }),
    fc.dictionary(hostileText, hostileText, { maxKeys: 5 }),
    fc.array(hostileText, { maxLength: 60 }),
  ),
});
const hostileCall = fc
  .tuple(ownCall, fc.oneof(hostileSource, fc.constant({})))
  .map(([call, source]) => ({ ...call, ...source }));

test.each(DRAWINGS)(
  'on %s every row of a hostile call stands behind the bar, and no other row is new',
  (_, drawing) => {
    fc.assert(
      fc.property(hostileCall, fc.constantFrom(...SIZES, NARROW), (call, size) => {
        const { screen, type } = ask(call, size, drawing);
        expect(ownWords(screen.written())).toMatch(APPROVAL);
        expect(lastRow(screen.visible())).toMatch(/^Allow\? /);
        type('n\r');
      }),
      { seed: SEED, numRuns: cases(80, 1500) },
    );
  },
);

test.each(DRAWINGS)('on %s the same holds when the size changes while it waits, once and again', (_, drawing) => {
  const sizes = fc.array(fc.constantFrom(...SIZES, NARROW), { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(hostileCall, sizes, (call, [first = NARROW, ...later]) => {
      const { screen, resize, type } = ask(call, first, drawing);
      for (const size of later) {
        resize(size);
        expect(ownWords(screen.written())).toMatch(APPROVAL);
        expect(lastRow(screen.visible())).toMatch(/^Allow\? /);
      }
      type('n\r');
    }),
    { seed: SEED, numRuns: cases(50, 1000) },
  );
});

test('no call is so long that the name of its tool, above it and below, leaves the screen', () => {
  fc.assert(
    fc.property(hostileCall, fc.constantFrom(...SIZES), (call, size) => {
      const { screen, resize, type } = ask({ ...call, tool: 'rm_everything' }, size);
      const first = screen.visible();
      resize(size);
      for (const rows of [first, screen.visible()]) {
        expect(ownWords(rows)).toMatch(APPROVAL);
        expect(rows.filter((row) => row === '  | rm_everything').length).toBeGreaterThanOrEqual(2);
      }
      type('n\r');
    }),
    { seed: SEED, numRuns: cases(50, 1000) },
  );
});

test('s shows all of a call, sign by sign, with all that a server says of its tool, and asks again', () => {
  fc.assert(
    fc.property(hostileCall, fc.constantFrom(...SIZES), (call, size) => {
      const { screen, type } = ask({ ...call, tool: 'write_file' }, size);
      const isCut = ownWords(screen.written()).includes('s = show everything');
      const before = screen.written().length;
      type('s\r');
      fc.pre(isCut);
      const rows = screen.written().slice(before);
      expect(ownWords(rows)).toMatch(APPROVAL);
      expect(ownWords(rows)).not.toMatch(/not shown|Not everything/);
      const texts = rows.slice(rows.indexOf('Arguments:') + 1, rows.lastIndexOf('Tool:')).map((row) => row.slice(4));
      const wanted = JSON.stringify(call.args, null, 2).split('\n').map(escapeCharacters);
      expect(texts.join('').replaceAll(' ', '')).toBe(wanted.join('').replaceAll(' ', ''));
      type('n\r');
    }),
    { seed: SEED, numRuns: cases(50, 1000) },
  );
});

test('after s and a change of size one screenful stands there again, and what was typed so far', async () => {
  const { screen, type, resize, decision } = ask({ args: { text: 'x'.repeat(9000) } }, { columns: 80, rows: 24 });
  type('s\r');
  expect(screen.written().length).toBeGreaterThan(100);
  type('y');
  resize({ columns: 60, rows: 24 });
  expect(screen.written().length).toBeLessThanOrEqual(24);
  expect(lastRow(screen.visible())).toBe('Allow? [y/a/s/N] y');
  type('es\r');
  expect(await decision).toBe('allow-once');
});

test('s is no answer where everything stands there already', async () => {
  const { screen, type, decision } = ask({}, { columns: 80, rows: 24 });
  expect(ownWords(screen.written())).not.toContain('s = ');
  type('s\r');
  expect(await decision).toBe('deny');
});

test.each([
  ['one long line', 'x'.repeat(2400)],
  ['many lines', Array.from({ length: 90 }, () => 'x'.repeat(30))],
  ['many long lines', Array.from({ length: 90 }, () => 'x'.repeat(900))],
  ['signs of two halves', '📁'.repeat(700)],
])('what is left out of %s is counted, and the count is right', (_, text) => {
  const { screen, type } = ask({ args: { text } }, { columns: 80, rows: 30 });
  const rows = screen.written();
  const note = /! Not everything is shown: ([\d,]+) more characters(?:, ([\d,]+) more lines)?\./.exec(ownWords(rows));
  const [hiddenChars, hiddenLines] = [note?.[1], note?.[2]].map((count) => Number((count ?? '0').replaceAll(',', '')));
  const args = rows.slice(rows.indexOf('Arguments:') + 1, rows.lastIndexOf('Tool:')).filter((row) => BAR.test(row));
  const shown = args.map((row) => row.slice(4)).join('');
  const whole = JSON.stringify({ text }, null, 2).split('\n').join('');
  expect(shown.length + (hiddenChars ?? 0)).toBe(whole.length);
  expect(ownWords(rows)).not.toContain('\ufffd');
  expect(shown).not.toContain('\ufffd');
  const gaps = [...ownWords(rows).matchAll(/\.\.\. ([\d,]+) lines not shown/g)].map(([, count = '']) => count);
  expect(gaps).toEqual(hiddenLines === 0 ? [] : [String(hiddenLines)]);
  type('n\r');
});

test('a screen too small to show a call takes no yes until it has grown', async () => {
  const { screen, type, resize, decision } = ask({}, { columns: 19, rows: 24 });
  expect(screen.written().join(' ')).not.toContain('write_file');
  type('y\r');
  resize({ columns: 80, rows: 7 });
  type('y\r');
  resize({ columns: 80, rows: 24 });
  expect(lastRow(screen.visible())).toBe('Allow? [y/a/N]');
  type('a\r');
  expect(await decision).toBe('always-allow');
});

test.each([{}, { columns: 0, rows: 0 }])(
  'a terminal that does not know its size is taken for a narrow one',
  (unknown) => {
    const terminal = fakeTerminal();
    Object.assign(terminal.output, { columns: undefined, rows: undefined }, unknown);
    void terminal.confirm(question({ args: { text: 'x'.repeat(500) } }));
    for (const row of terminal.screen().split('\n')) expect(row.length).toBeLessThan(40);
    terminal.type('n\r');
  },
);

test('no row ends between a letter and its accent', () => {
  const { screen, type } = ask({ args: { text: 'e\u0301'.repeat(180) } }, { columns: 80, rows: 30 });
  for (const row of screen.written()) expect(row).not.toMatch(/^ {2}\| \p{M}/u);
  expect(
    screen
      .written()
      .join('')
      .match(/e\u0301/g),
  ).toHaveLength(180);
  type('n\r');
});

test('no heap of accents covers the rows around it', () => {
  const { screen, type } = ask({ args: { text: `e\u0301${'\u0301'.repeat(300)} \u0301` } }, { columns: 80, rows: 30 });
  const text = screen.written().join('');
  expect(text.match(/\p{M}/gu)).toHaveLength(3);
  expect(text).toContain('\\u0301');
  type('n\r');
});

test.each([
  [20, 8, true],
  [19, 8, false],
  [20, 7, false],
])('a screen of %i columns and %i rows asks: %s', async (columns, rows, asks) => {
  const { confirm, type, screen } = fakeTerminal({ columns, rows });
  const decision = confirm(question());
  type('y\r');
  if (!asks) type('\u0004');
  expect(await decision).toBe(asks ? 'allow-once' : 'deny');
  expect(screen().includes('Too small to ask.')).toBe(!asks);
});

test('twenty characters are taken as an answer, and a line of 400 is shown whole', async () => {
  const { confirm, type, screen } = fakeTerminal();
  const decision = confirm(question({ args: { text: 'x'.repeat(388) } }));
  type(`${'n'.repeat(30)}\r`);
  expect(await decision).toBe('deny');
  expect(screen()).toContain(`N] ${'n'.repeat(20)}\n`);
  expect(screen()).not.toContain('not shown');
});
