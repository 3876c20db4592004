import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSafeShellArg, permissionStore, type PermissionStore } from '../../src/security/index.ts';
import { cases, seedOr } from '../support/soak.ts';

const name = fc.oneof(
  fc.constantFrom('a', 'b', '__proto__', 'constructor', '1', '10', '2'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }).filter((text) => text.isWellFormed()),
);
const act = fc.record({
  agent: fc.constantFrom('x', 'y', '__proto__', '7'),
  verb: fc.constantFrom('add', 'add', 'remove', 'clear'),
  tool: name,
});

function withFile<Result>(use: (path: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-law-'));
  try {
    return use(join(folder, 'allowed-tools.json'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function perform(store: PermissionStore, verb: string, tool: string): void {
  if (verb === 'add') store.add(tool);
  if (verb === 'remove') store.remove(tool);
  if (verb === 'clear') store.clear();
}

test('any sequence of decisions gives what sets in memory give, and every store reads it back', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 25 }), (acts) =>
      withFile((path) => {
        const model = new Map<string, Set<string>>();
        for (const { agent, verb, tool } of acts) {
          const tools = model.get(agent) ?? new Set();
          if (verb === 'add') tools.add(tool);
          if (verb === 'remove') tools.delete(tool);
          model.set(agent, verb === 'clear' ? new Set() : tools);
          perform(permissionStore({ path, agent }), verb, tool);
        }
        for (const [agent, tools] of model) {
          const store = permissionStore({ path, agent });
          expect(store.list()).toEqual([...tools].toSorted());
          for (const { tool } of acts) expect(store.isAlwaysAllowed(tool)).toBe(tools.has(tool));
        }
      }),
    ),
    { numRuns: cases(60, 2000), seed: seedOr(1) },
  );
});

test('a damaged file never allows a tool that the whole one did not, and never breaks the question', () => {
  const damage = fc.record({ at: fc.nat(120), length: fc.nat(8), insert: fc.string({ maxLength: 6 }) });
  fc.assert(
    fc.property(damage, ({ at, length, insert }) =>
      withFile((path) => {
        const store = permissionStore({ path, agent: 'x', onWarning: () => undefined });
        for (const tool of ['read_file', 'list_files']) store.add(tool);
        const text = readFileSync(path, 'utf8');
        const damaged = text.slice(0, at) + insert + text.slice(at + length);
        writeFileSync(path, damaged);
        expect(store.isAlwaysAllowed('delete_file')).toBe(false);
        if (isJson(damaged)) return;
        expect(store.isAlwaysAllowed('read_file')).toBe(false);
        expect(readdirSync(dirname(path))).toEqual([expect.stringContaining('.corrupt-')]);
      }),
    ),
    { numRuns: cases(150, 3000), seed: seedOr(1) },
  );
});

test('a word is safe exactly when it has no sign that a shell reads', () => {
  const signs = ';|&<>$`"\'!{}()[]~*?#^%='.split('');
  const isSign = (sign: string) => signs.includes(sign) || sign.trim() === '' || /\p{Cc}/u.test(sign);
  const word = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...'ab-\\/.'.split(''), ...signs, ' ', '\n') }),
  );
  fc.assert(
    fc.property(word, (text) => {
      expect(isSafeShellArg(text)).toBe(text !== '' && !text.startsWith('-') && !Array.from(text).some(isSign));
    }),
    { numRuns: cases(1000, 20000), seed: seedOr(1) },
  );
});
