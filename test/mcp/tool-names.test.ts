import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createServerToolNames } from '../../src/mcp/policies/server-tool-names.ts';

function namesOf(servers: readonly string[]) {
  const names = createServerToolNames();
  for (const server of servers) names.add(server);
  return names;
}

test('a tool is called server_tool', () => {
  expect(namesOf(['files']).of('files', ['read_file'])).toEqual(['files_read_file']);
});

test('characters that models may not use become underscores', () => {
  expect(namesOf(['my files']).of('my files', ['read.file/ü'])).toEqual(['my_files_read_file__']);
});

test('a name that needs no change keeps it, whatever else would become the same', () => {
  const [changed, plain] = namesOf(['s']).of('s', ['a b', 'a_b']);
  expect(plain).toBe('s_a_b');
  expect(changed).toMatch(/^s_a_b_[a-z0-9]{6}$/);
});

test('two servers whose names run together keep their tools apart by the order of the configuration', () => {
  const names = namesOf(['a', 'a_b']);
  // The second connects first, and does not get what would be the first one's.
  expect(names.of('a_b', ['c'])[0]).toMatch(/^a_b_c_[a-z0-9]{6}$/);
  expect(names.of('a', ['b_c'])).toEqual(['a_b_c']);
});

test('a server that is added later never takes a name from one that was there', () => {
  const names = namesOf(['a_b']);
  expect(names.of('a_b', ['c'])).toEqual(['a_b_c']);
  names.add('a');
  expect(names.of('a', ['b_c', 'x'])[0]).toMatch(/^a_b_c_[a-z0-9]{6}$/);
  expect(names.of('a', ['x'])).toEqual(['a_x']);
  expect(names.of('a_b', ['c'])).toEqual(['a_b_c']);
});

test('a tool that looks as if it had the suffix of another gets one of its own', () => {
  const names = namesOf(['a', 'a_b']);
  const [theirs = ''] = names.of('a_b', ['c']);
  expect(names.of('a', [theirs.slice(2)])).not.toContain(theirs);
});

test('a name stays with its tool when the list of its server changes', () => {
  const names = namesOf(['s']);
  expect(names.of('s', ['a.b'])).toEqual(['s_a_b']);
  expect(names.of('s', ['a_b', 'a.b'])[1]).toBe('s_a_b');
  expect(names.of('s', [])).toEqual([]);
  const [later = ''] = names.of('s', ['a b']);
  expect(later).toMatch(/^s_a_b_[a-z0-9]{6}$/);
  expect(names.of('s', ['a.b', 'a b'])).toEqual(['s_a_b', later]);
});

/** Servers and tools whose names run together as often as not. */
const shortNames = fc.stringMatching(/^[ab_.]{1,5}$/);
const anyNames = fc.oneof(shortNames, fc.string({ maxLength: 80 }));
const servers = fc.uniqueArray(anyNames, { minLength: 1, maxLength: 6 });

test('whatever servers call their tools, the names are callable, and no two tools have one', () => {
  const listed = fc.uniqueArray(fc.tuple(fc.nat(5), anyNames), { maxLength: 40, selector: (one) => one.join('\n') });
  fc.assert(
    fc.property(servers, listed, (order, tools) => {
      const names = namesOf(order);
      const all = order.flatMap((server, at) =>
        names.of(
          server,
          tools.flatMap(([of, tool]) => (of % order.length === at ? [tool] : [])),
        ),
      );
      for (const name of all) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      const given = tools.map(([of, tool]) => `${of % order.length}\n${tool}`);
      expect(new Set(all).size).toBe(new Set(given).size);
    }),
  );
});

test('in every order of connecting, dying, coming back and listing anew, the names are the same and none moves', () => {
  /** Tools that need no change: two spellings of one name in one list keep it in the order in which they came. */
  const toolsOf = fc.uniqueArray(fc.stringMatching(/^[ab_]{1,5}$/), { minLength: 1, maxLength: 4 });
  const lists = fc.array(toolsOf, { minLength: 6, maxLength: 6 });
  const steps = fc.array(fc.tuple(fc.nat(5), fc.boolean(), fc.nat(4)), { maxLength: 30 });
  fc.assert(
    fc.property(servers, lists, steps, (order, tools, moves) => {
      const straight = namesOf(order);
      const expected = new Map(
        order.flatMap((server, at) => {
          const own = tools[at] ?? [];
          return straight.of(server, own).map((name, index) => [`${server}\n${own[index]}`, name] as const);
        }),
      );
      const names = namesOf(order);
      for (const [which, isListed, first] of moves) {
        const at = which % order.length;
        const own = isListed ? (tools[at] ?? []).slice(first) : [];
        for (const [index, name] of names.of(order[at] ?? '', own).entries())
          expect(name).toBe(expected.get(`${order[at]}\n${own[index]}`));
      }
      expect(new Set(expected.values()).size).toBe(expected.size);
    }),
  );
});
