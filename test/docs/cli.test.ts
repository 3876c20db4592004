import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/start.ts';
import { COMMON_OPTIONS } from '../../src/cli/command/command.ts';
import { MAIN, temporaryFolder } from '../cli/spawn-cli.ts';
import { BUNDLED } from '../support/bundled.ts';
import { blocks, document, root } from './documents.ts';

const page = document('docs/cli.md');
const [intro = '', ...sections] = page.text.split(/^(?=## )/m);

test.each(Object.entries(COMMANDS))(
  '%s and all its options stand in docs/cli.md, and no option that it has not',
  async (name, load) => {
    const { synopsis, options } = await load();
    const own = section(name);
    expect(intro).toContain(`[\`${name}\`](#signalbox-${name})`);
    const told = documentation(name);
    for (const option of [...options, ...COMMON_OPTIONS]) {
      expect(told).toContain(`\`--${option.name}${option.value === undefined ? '' : ` ${option.value}`}\``);
      if (option.short !== undefined) expect(told).toContain(`\`-${option.short}\``);
    }
    if (existsSync(`${root}docs/${name}.md`)) return;
    expect(own).toContain(`\`signalbox ${name} ${synopsis}\``);
    const inTable = [...own.matchAll(/^\| (?:`-\w`, )?`--([\w-]+)/gm)].map(({ 1: option }) => option);
    const known = options.map((option) => option.name);
    expect(inTable.filter((option) => option === undefined || !known.includes(option))).toEqual([]);
  },
);

test('the examples print what stands there', async () => {
  await using folder = await exampleFolder();
  const written = blocks(page)
    .filter(({ info }) => info === 'console')
    .map(({ code }) => code)
    .join('');
  const commands = written.split('\n').filter((line) => line.startsWith('$ '));
  expect(commands.length).toBeGreaterThan(8);
  const script = ['exec 2>&1', ...commands.flatMap((line) => [`printf '%s\\n' ${quoted(line)}`, line.slice(2)])];
  const start = `signalbox() { ${[process.execPath, ...BUNDLED, MAIN].map(quoted).join(' ')} "$@"; }`;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: folder.path };
  const printed = execFileSync('sh', ['-c', [start, ...script].join('\n')], {
    cwd: folder.path,
    env,
    encoding: 'utf8',
  });
  expect(printed.replaceAll(folder.path, '/home/you/project').replaceAll(RUN_ID, '01k80-example')).toBe(written);
});

const RUN_ID = /01[\w]{8,}-[\w]+(?=\.jsonl)/g;

/** What a reader of the page is shown of a command: its section, those it points to, and its own page. */
function documentation(name: string): string {
  const linked = [...section(name).matchAll(/\(#signalbox-(\w+)\)/g)].map(({ 1: other = '' }) => section(other));
  const ownPage = existsSync(`${root}docs/${name}.md`) ? document(`docs/${name}.md`).text : '';
  return [intro, section(name), ...linked, ownPage].join('\n');
}

function section(name: string): string {
  return sections.find((text) => text.startsWith(`## signalbox ${name}\n`)) ?? '';
}

async function exampleFolder() {
  const folder = await temporaryFolder();
  const file = (name: string): string => join(folder.path, name);
  await writeFile(
    file('reply.txt'),
    `Sure!\n{'thought': "I add them", "tool": "add", "tool_args": {"a": 1, "b": two,}}\n`,
  );
  const schema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] };
  await writeFile(file('schema.json'), `${JSON.stringify(schema)}\n`);
  await mkdir(file('.signalbox/security'), { recursive: true });
  const agents = { nightly: ['delete_note'], signalbox: ['files_edit_file', 'files_write_file'] };
  await writeFile(file('.signalbox/security/allowed-tools.json'), JSON.stringify({ version: 1, agents }));
  return folder;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
