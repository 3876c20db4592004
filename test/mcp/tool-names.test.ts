import fc from 'fast-check';
import { expect, test } from 'vitest';
import { registeredNames } from '../../src/mcp/tool-names.ts';

test('a tool is called server_tool', () => {
  expect(registeredNames([{ server: 'files', tool: 'read_file' }])).toEqual(['files_read_file']);
});

test('characters that models may not use become underscores', () => {
  expect(registeredNames([{ server: 'my files', tool: 'read.file/ü' }])).toEqual(['my_files_read_file__']);
});

test('a name that needs no change keeps it, whatever else would become the same', () => {
  const names = registeredNames([
    { server: 's', tool: 'a b' },
    { server: 's', tool: 'a_b' },
  ]);
  expect(names[1]).toBe('s_a_b');
  expect(names[0]).toMatch(/^s_a_b_[a-z0-9]{6}$/);
});

test('two servers whose names run together keep their tools apart', () => {
  const names = registeredNames([
    { server: 'a', tool: 'b_c' },
    { server: 'a_b', tool: 'c' },
  ]);
  expect(names[0]).toBe('a_b_c');
  expect(names[1]).not.toBe('a_b_c');
});

test('whatever servers call their tools, the names are callable, different and always the same', () => {
  const tools = fc.array(fc.record({ server: fc.string({ maxLength: 40 }), tool: fc.string({ maxLength: 80 }) }), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(tools, (list) => {
      const names = registeredNames(list);
      expect(new Set(names).size).toBe(list.length);
      for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(registeredNames(list)).toEqual(names);
    }),
  );
});
