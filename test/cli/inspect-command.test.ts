import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startScene } from '../inspector/scenes.ts';
import { viewer } from '../inspector/viewer.ts';
import { testFolder } from '../support/test-folder.ts';
import { runCli, startCli, temporaryFolder } from './spawn-cli.ts';

async function recordingIn(folder: string): Promise<string> {
  const run = startScene('parallel');
  await run;
  const path = join(folder, `${run.runId}.jsonl`);
  writeFileSync(path, run.recording());
  return path;
}

const address = /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/;

test('inspect shows a recording or a folder at the address that it prints, until Ctrl-C', async () => {
  await using folder = await temporaryFolder();
  const file = await recordingIn(folder.path);
  for (const place of [file, folder.path]) {
    const cli = startCli(['inspect', place], { cwd: folder.path });
    await cli.until('Other apps send to: ws://127.0.0.1:');
    const [url = ''] = address.exec(cli.printed()) ?? [];
    const listed = await viewer(url).list((frame) => frame.t === 'session');
    expect(listed.at(-1)).toMatchObject({
      session: { kind: 'recording', status: 'answered', title: expect.stringMatching(/Austin/) },
    });
    cli.child.kill('SIGINT');
    expect((await cli.ended).code).toBe(0);
  }
});

test('inspect refuses what is not there, and what is no recording, by name', async () => {
  const folder = testFolder();
  writeFileSync(join(folder, 'notes.jsonl'), 'no recording');
  for (const [args, wanted, said] of [
    [['nowhere.jsonl'], 2, /nowhere\.jsonl/],
    [['notes.jsonl'], 1, /^signalbox: notes\.jsonl: Line 1 .*\n$/],
    [['.', '--port', '99999'], 2, /--port/],
    [[], 2, /\.signalbox/],
  ] as const) {
    const { code, stderr } = await runCli(['inspect', ...args], { cwd: folder });
    expect(code).toBe(wanted);
    expect(stderr).toMatch(said);
  }
});

test('chat --inspect prints the address of a page that shows the run', async () => {
  await using folder = await temporaryFolder();
  const { code, stderr } = await runCli(['chat', '--inspect', '--model', 'practice'], { cwd: folder.path });
  expect(code).toBe(0);
  expect(stderr).toMatch(new RegExp(`Inspector: ${address.source}`));
});

test('diagram draws a machine of ours or of a module, in each format', async () => {
  await using folder = await temporaryFolder();
  const { stdout: json } = await runCli(['diagram', 'tool-call', '--format', 'json'], { cwd: folder.path });
  expect(JSON.parse(json)).toMatchObject({ id: 'toolCall', root: { children: expect.any(Array) } });
  const { stdout: svg } = await runCli(['diagram', 'llmCall', '--format', 'svg'], { cwd: folder.path });
  expect(svg).toMatch(/^<svg [^]*BACKING_OFF[^]*<\/svg>\n$/);
  const config = "{ id: 'light', initial: 'RED', states: { RED: { on: { GO: 'GREEN' } }, GREEN: {} } }";
  const xstate = import.meta.resolve('xstate');
  writeFileSync(
    join(folder.path, 'light.mjs'),
    `import { createMachine } from '${xstate}';\nexport const a = 1;\nexport const light = createMachine(${config});\n`,
  );
  writeFileSync(
    join(folder.path, 'odd.mjs'),
    `import { createMachine } from '${xstate}';\nexport const odd = createMachine({ id: 'a\\0</title><script>', initial: '\\x07', states: { '\\x07': {} } });\n`,
  );
  const { stdout: odd } = await runCli(['diagram', 'odd.mjs', '--format', 'svg'], { cwd: folder.path });
  expect(odd).toContain('<title>a\ufffd&lt;/title&gt;&lt;script&gt;</title>');
  // oxlint-disable-next-line no-control-regex -- no reader of XML takes them
  expect(odd).not.toMatch(/[\0-\x08\x0b\x0c\x0e-\x1f]/);
  const { stdout: mermaid } = await runCli(['diagram', 'light.mjs'], { cwd: folder.path });
  expect(mermaid).toContain('RED --> GREEN : GO');
  for (const args of [['nothing'], ['light.mjs', '--export', 'a'], ['agent', '--format', 'png']])
    expect((await runCli(['diagram', ...args], { cwd: folder.path })).code).toBe(2);
});
