import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { permissionStore } from '../../../src/security/index.ts';
import { kept, ownFolder, permissionFolder } from './permission-folder.ts';

const SHOWN = { title: '', description: 'Looks.', inputSchema: '{}', annotations: '' };
const SERVER_TOOL = { server: 'x', serverId: '1', tool: 't', name: 'x_t', fingerprint: 'f', shown: SHOWN };

/** A file of version 2 in which the agent `first` has this in the place of its tools. */
const fileWith = (changes: object): string =>
  JSON.stringify({ version: 2, agents: { first: { tools: ['t'], serverTools: [], ...changes } } });

test('what was always allowed is still allowed after a restart', () => {
  const { open } = permissionFolder();
  open({ agent: 'assistant' }).add('get_weather');
  const later = open({ agent: 'assistant' });
  expect(later.isAlwaysAllowed('get_weather')).toBe(true);
  expect(later.isAlwaysAllowed('Get_Weather')).toBe(false);
  expect(later.isAlwaysAllowed('delete_file')).toBe(false);
  expect(later.list()).toEqual(['get_weather']);
});

test('a tool of a server is taken back by either of its names, and with a server only there', () => {
  const { open } = permissionFolder();
  const store = open({ agent: 'mine' });
  const elsewhere = { ...SERVER_TOOL, server: 'y', serverId: '2', name: 'y_t' };
  const left = (name: string, server?: string) => {
    for (const one of [SERVER_TOOL, elsewhere]) store.add(one.name, one);
    expect(store.remove(name, server)).toBe(true);
    return store.listServerTools().map((one) => one.name);
  };
  expect([left('x_t'), left('t', 'y'), left('t')]).toEqual([['y_t'], ['x_t'], []]);
});

test('what has changed of a tool is told with what stands around it, also behind what is kept', () => {
  const { open } = permissionFolder();
  const store = open({ agent: 'mine' });
  const now = (shown: Partial<typeof SHOWN>) => ({ ...SERVER_TOOL, fingerprint: 'g', shown: { ...SHOWN, ...shown } });
  const long = (word: string) => `${'a'.repeat(900)}${word}${'z'.repeat(900)}`;
  store.add('x_t', { ...SERVER_TOOL, shown: { ...SHOWN, description: long('reads') } });
  expect(store.changesOf(now({ description: long('writes') }))).toEqual([
    {
      what: 'description',
      before: `…${'a'.repeat(100)}reads${'z'.repeat(295)}…`,
      after: `…${'a'.repeat(100)}writes${'z'.repeat(294)}…`,
    },
  ]);
  const inputSchema = 'x'.repeat(4000);
  store.add('x_t', { ...SERVER_TOOL, shown: { ...SHOWN, inputSchema } });
  expect(store.changesOf(now({ inputSchema }))).toMatchObject([{ what: 'input schema' }]);
  expect(store.changesOf(SERVER_TOOL)).toBeNull();
});

test('an agent that asks for its store again gets the same, which warns once', () => {
  const { path, warnings, open } = permissionFolder();
  mkdirSync(path, { recursive: true });
  const store = open();
  for (let times = 0; times < 3; times += 1) store.forAgent('mine').isAlwaysAllowed('t');
  expect(warnings).toHaveLength(1);
});

test('a store that nobody wrote to allows nothing, and makes no file', () => {
  const { folder, open } = permissionFolder();
  expect([open().list(), open().isAlwaysAllowed('x'), open().remove('x')]).toEqual([[], false, false]);
  open().clear();
  expect(readdirSync(folder)).toEqual([]);
});

test('what was allowed can be taken back, one by one or all', () => {
  const { open, content } = permissionFolder();
  const [mine, other] = [open({ agent: 'mine' }), open({ agent: 'other' })];
  for (const tool of ['a', 'b', 'c']) mine.add(tool);
  other.add('a');
  expect([mine.remove('b'), mine.remove('b'), mine.list()]).toEqual([true, false, ['a', 'c']]);
  mine.clear();
  expect(mine.isAlwaysAllowed('a')).toBe(false);
  expect(content()).toEqual(kept({ other: ['a'] }));
});

test('the file has version 1 and sorted names, and the same decisions give the same bytes', () => {
  const [first, second] = [permissionFolder(), permissionFolder()];
  for (const tool of ['b', 'a', 'c', 'a']) first.open({ agent: 'x' }).add(tool);
  first.open({ agent: 'w' }).add('z');
  second.open({ agent: 'w' }).add('z');
  for (const tool of ['c', 'b', 'a']) second.open({ agent: 'x' }).add(tool);
  expect(first.content()).toEqual(kept({ w: ['z'], x: ['a', 'b', 'c'] }));
  expect(readFileSync(first.path, 'utf8')).toBe(readFileSync(second.path, 'utf8'));
});

test.skipIf(process.platform === 'win32')(
  'only the owner may read file and folder, whatever was there and whatever the umask',
  () => {
    const { path, open } = permissionFolder();
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    open().add('a');
    expect([statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777]).toEqual([0o600, 0o700]);
    chmodSync(path, 0o644);
    open().add('b');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  },
);

test('nothing but the permission file stays behind', () => {
  const { path, open } = permissionFolder();
  const store = open();
  for (const tool of ['a', 'b']) store.add(tool);
  store.remove('a');
  expect(readdirSync(dirname(path))).toEqual(['allowed-tools.json']);
});

test('an open store sees what another one wrote', () => {
  const { open } = permissionFolder();
  const [here, there] = [open({ agent: 'a' }), open({ agent: 'a' })];
  expect(here.isAlwaysAllowed('t')).toBe(false);
  there.add('t');
  expect(here.isAlwaysAllowed('t')).toBe(true);
  there.remove('t');
  expect(here.isAlwaysAllowed('t')).toBe(false);
});

test('names such as __proto__ are names like any other', () => {
  const { open } = permissionFolder();
  const odd = ['__proto__', 'constructor', 'hasOwnProperty', 'toString'];
  for (const agent of odd) expect(odd.some((tool) => open({ agent }).isAlwaysAllowed(tool))).toBe(false);
  open({ agent: '__proto__' }).add('__proto__');
  open({ agent: '__proto__' }).add('polluted');
  expect(open({ agent: '__proto__' }).list()).toEqual(['__proto__', 'polluted']);
  expect(open({ agent: 'somebody' }).list()).toEqual([]);
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
});

test('a tool, an agent or a path without a name is refused by name', () => {
  const { open } = permissionFolder();
  expect(() => open().add('')).toThrow(/'tool'/);
  expect(() => permissionStore({ agent: '' })).toThrow(/'agent'/);
  expect(() => permissionStore({ path: '' })).toThrow(/'path'/);
  expect(() => open().forAgent('')).toThrow(/'name'/);
});

test('a relative path means the folder that was current when the store was made', () => {
  const [folder, before] = [ownFolder(), process.cwd()];
  onTestFinished(() => process.chdir(before));
  process.chdir(folder);
  const store = permissionStore({ path: 'allowed.json' });
  process.chdir(before);
  store.add('t');
  expect(readdirSync(folder)).toEqual(['allowed.json']);
});

test('the default place is in the home folder', () => {
  const home = ownFolder();
  vi.stubEnv('HOME', home);
  vi.stubEnv('USERPROFILE', home);
  onTestFinished(() => void vi.unstubAllEnvs());
  permissionStore({ agent: 'a' }).add('t');
  expect(readFileSync(join(home, '.signalbox', 'security', 'allowed-tools.json'), 'utf8')).toContain('"t"');
});

describe('agents', () => {
  test('given one store, two agents share nothing', () => {
    const store = permissionFolder().open();
    const [a, b] = [store.forAgent('a'), store.forAgent('b')];
    a.add('write_file');
    expect([a.isAlwaysAllowed('write_file'), b.isAlwaysAllowed('write_file')]).toEqual([true, false]);
    b.add('send_mail');
    expect([a.list(), b.list()]).toEqual([['write_file'], ['send_mail']]);
  });

  test('given a store that was made with an agent, they share it', () => {
    const store = permissionFolder().open({ agent: 'team' });
    store.forAgent('a').add('write_file');
    expect(store.forAgent('b').isAlwaysAllowed('write_file')).toBe(true);
    expect(store.forAgent('b').list()).toEqual(store.list());
  });

  test('of the same name are the same agent, in any process', () => {
    const { open } = permissionFolder();
    open().forAgent('a').add('t');
    expect(open().forAgent('a').isAlwaysAllowed('t')).toBe(true);
    const store = open();
    store.forAgent('a');
    expect(store.forAgent('b').forAgent('b').list()).toEqual([]);
    expect(store.forAgent('a').list()).toEqual(['t']);
  });

  test('a store belongs to the first agent that it is given to, so what that agent learns can be read and taken back', () => {
    const store = permissionFolder().open();
    const bound = store.forAgent('assistant');
    bound.add('t');
    expect(store.list()).toEqual(['t']);
    store.clear();
    expect(bound.isAlwaysAllowed('t')).toBe(false);
  });

  test('what was added before the store was given away is allowed to that agent, and to no other', () => {
    const { open, content } = permissionFolder();
    const store = open();
    for (const tool of ['keep', 'drop']) store.add(tool);
    store.remove('drop');
    const agent = store.forAgent('nightly');
    expect([agent.isAlwaysAllowed('keep'), agent.isAlwaysAllowed('drop')]).toEqual([true, false]);
    expect(store.forAgent('other').isAlwaysAllowed('keep')).toBe(false);
    expect(content()).toMatchObject({ agents: { nightly: ['keep'] } });
  });

  test('what was added before is kept with the first thing that the agent learns', () => {
    const { open, content } = permissionFolder();
    const store = open();
    store.add('before');
    store.forAgent('nightly').add('later');
    expect(content()).toMatchObject({ agents: { nightly: ['before', 'later'] } });
  });

  test('what was taken back before the store was given away stays taken back', () => {
    const store = permissionFolder().open();
    store.add('t');
    store.clear();
    expect(store.forAgent('nightly').list()).toEqual([]);
  });

  test('giving a store to an agent touches no disk', () => {
    const { folder, open } = permissionFolder();
    open().forAgent('a');
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a file that is not as it should be', () => {
  test.each<[what: string, text: string]>([
    ['no JSON', '{"version":1,"agents":{"first":["sto'],
    ['an empty file', ''],
    ['a list', '[]'],
    ['no version', '{"agents":{}}'],
    ['version 0', '{"version":0,"agents":{}}'],
    ['a version that is text', '{"version":"1","agents":{"first":["t"]}}'],
    ['tools that are no list', '{"version":1,"agents":{"first":"t"}}'],
    ['a tool that is no text', '{"version":1,"agents":{"first":["t",true]}}'],
    ['version 2 with names alone', '{"version":2,"agents":{"first":["stolen"]}}'],
    ['tools of servers that are no list', fileWith({ serverTools: {} })],
    ['a tool of a server that is a name', fileWith({ serverTools: ['t'] })],
    ...Object.keys(SERVER_TOOL).map((key): [string, string] => [
      `a tool of a server without its ${key}`,
      fileWith({ serverTools: [{ ...SERVER_TOOL, [key]: '' }] }),
    ]),
    ...Object.keys(SHOWN).map((key): [string, string] => [
      `a tool of a server that was shown without ${key}`,
      fileWith({ serverTools: [SERVER_TOOL, { ...SERVER_TOOL, tool: 'u', shown: { ...SHOWN, [key]: null } }] }),
    ]),
    ['agents that are a list', '{"version":1,"agents":[["t"]]}'],
    ['one agent that is broken', '{"version":1,"agents":{"first":["t"],"second":null}}'],
  ])('%s: is set aside and reported, and nothing in it is trusted', (_, text) => {
    const { path, warnings, open, write } = permissionFolder();
    write(text);
    expect(open({ agent: 'first' }).isAlwaysAllowed('t')).toBe(false);
    const aside = readdirSync(dirname(path));
    expect(aside).toEqual([expect.stringMatching(/^allowed-tools\.json\.corrupt-/)]);
    expect(aside.map((name) => readFileSync(join(dirname(path), name), 'utf8'))).toEqual([text]);
    expect(warnings).toEqual([
      { code: 'permissions-corrupt', path, message: expect.stringContaining(String(aside[0])) },
    ]);
  });

  test('one in which nothing is wrong is trusted', () => {
    const { open, write } = permissionFolder();
    write(fileWith({ serverTools: [SERVER_TOOL] }));
    expect(open({ agent: 'first' }).isAlwaysAllowed('t')).toBe(true);
    expect(open({ agent: 'first' }).isAlwaysAllowed('x_t', SERVER_TOOL)).toBe(true);
  });

  test('one that cannot be set aside, because its name is too long for that, allows nothing and stays', () => {
    const path = join(ownFolder(), 'p'.repeat(245));
    writeFileSync(path, 'garbage');
    const warnings: string[] = [];
    const store = permissionStore({ path, agent: 'first', onWarning: ({ code }) => warnings.push(code) });
    expect([store.isAlwaysAllowed('t'), store.isAlwaysAllowed('t')]).toEqual([false, false]);
    expect(() => store.list()).toThrow(
      expect.objectContaining({
        code: 'permissions-corrupt',
        message: expect.stringContaining('could not be set aside (ENAMETOOLONG)'),
      }),
    );
    expect(() => store.add('t')).toThrow(expect.objectContaining({ code: 'permissions-unwritable' }));
    expect(warnings).toEqual(['permissions-corrupt']);
    expect(readdirSync(dirname(path))).toEqual(['p'.repeat(245)]);
  });

  test('a new decision starts a new file beside the one that was set aside', () => {
    const { path, warnings, open, write, content } = permissionFolder();
    write('garbage');
    open({ agent: 'a' }).add('t');
    expect(content()).toEqual(kept({ a: ['t'] }));
    expect(readdirSync(dirname(path))).toHaveLength(2);
    expect(warnings).toHaveLength(1);
  });

  test('a file that an editor of Windows has saved is one, and stays', () => {
    const { open, write, folder } = permissionFolder();
    write(`\ufeff{\r\n"version": 1, "agents": { "mine": ["t"] } }\r\n`);
    expect(open({ agent: 'mine' }).isAlwaysAllowed('t')).toBe(true);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  test('without a listener the report is a warning of the process', () => {
    const { path, write } = permissionFolder();
    const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    onTestFinished(() => emitted.mockRestore());
    write('garbage');
    permissionStore({ path }).list();
    expect(emitted).toHaveBeenCalledWith(expect.stringContaining(path), {
      type: 'PermissionWarning',
      code: 'permissions-corrupt',
    });
  });

  test('a listener that throws breaks nothing', () => {
    const { open, write, content } = permissionFolder();
    const fail = () => {
      throw new Error('the listener failed');
    };
    write('garbage');
    expect(open({ agent: 'a', onWarning: fail }).isAlwaysAllowed('t')).toBe(false);
    write('{"version":3}');
    expect(open({ agent: 'a', onWarning: fail }).isAlwaysAllowed('t')).toBe(false);
    expect(content()).toEqual({ version: 3 });
  });

  test('an agent that is given the store gets the report, unless the store has a listener of its own', () => {
    const { path, warnings, open, write } = permissionFolder();
    const heard: string[] = [];
    write('garbage');
    permissionStore({ path })
      .forAgent('a', ({ code }) => heard.push(code))
      .list();
    write('garbage');
    open()
      .forAgent('a', ({ code }) => heard.push(code))
      .list();
    expect([heard, warnings.length]).toEqual([['permissions-corrupt'], 1]);
  });

  test('a file of a newer version allows nothing, is refused in clear words, and stays as it is', () => {
    const { path, warnings, open, write } = permissionFolder();
    const text = '{"version":3,"agents":{"a":["t"]},"more":true}';
    write(text);
    const store = open({ agent: 'a' });
    const refusal = expect.objectContaining({
      code: 'permissions-newer-version',
      message: expect.stringMatching(/version 3.*Update Signalbox/),
    });
    for (const act of [() => store.add('x'), () => store.remove('t'), () => store.clear(), () => store.list()])
      expect(act).toThrow(refusal);
    expect([store.isAlwaysAllowed('t'), store.isAlwaysAllowed('t')]).toEqual([false, false]);
    expect(warnings.map(({ code }) => code)).toEqual(['permissions-newer-version']);
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(readdirSync(dirname(path))).toEqual(['allowed-tools.json']);
  });

  test('a link in the place of the file stays, and what it leads to is changed; one that leads nowhere is replaced', () => {
    const { path, warnings, open } = permissionFolder();
    const repository = ownFolder();
    const there = join(repository, 'allowed.json');
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(there, path);
    open().add('t');
    expect([lstatSync(path).isSymbolicLink(), readdirSync(repository)]).toEqual([false, []]);

    writeFileSync(there, readFileSync(path));
    renameSync(path, `${path}.plain`);
    symlinkSync(there, path);
    open().add('u');
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(open().list()).toEqual(['t', 'u']);
    expect(readdirSync(repository)).toEqual(['allowed.json']);

    // What is no permission file is not written to: the link is set aside.
    writeFileSync(there, 'echo hello');
    open().add('v');
    expect([lstatSync(path).isSymbolicLink(), readFileSync(there, 'utf8')]).toEqual([false, 'echo hello']);
    expect(warnings.map(({ code }) => code)).toEqual(['permissions-corrupt']);
  });

  test('a folder in the place of the file allows nothing, and says that it cannot be read', () => {
    const { path, warnings, open } = permissionFolder();
    mkdirSync(path, { recursive: true });
    expect(open().isAlwaysAllowed('t')).toBe(false);
    expect(() => open().list()).toThrow(expect.objectContaining({ code: 'permissions-unreadable' }));
    expect(warnings.map(({ code }) => code)).toEqual(['permissions-unreadable']);
  });

  test('a home that cannot be written gives an error with a stable code, and asking still works', () => {
    const file = join(ownFolder(), 'a-file');
    writeFileSync(file, '');
    const store = permissionStore({ path: join(file, 'security', 'allowed-tools.json'), agent: 'a' });
    expect(() => store.add('t')).toThrow(
      expect.objectContaining({ name: 'PermissionStoreError', code: 'permissions-unwritable' }),
    );
    expect(() => store.add('t')).toThrow(/Make its folder writable, or choose another path/);
    expect([store.isAlwaysAllowed('t'), store.list()]).toEqual([false, []]);
  });
});
