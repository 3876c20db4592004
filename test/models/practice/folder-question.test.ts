import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startPracticeModel, type PracticeModel } from '../../../src/cli/practice/start-practice-model.ts';
import { openFileTools } from './file-tools.ts';
import { workThrough } from './work-through.ts';

const QUESTION = 'What is in this folder, and which file is the largest?';

let folder = '';
let practice: PracticeModel;
let files: Awaited<ReturnType<typeof openFileTools>>;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'practice-')));
  await writeFile(join(folder, 'notes.md'), 'first\nsecond\nthird\n');
  await writeFile(join(folder, 'large data.bin'), 'x'.repeat(5000));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'src', 'main.ts'), 'export {};\n');
  files = await openFileTools(folder);
  practice = await startPracticeModel();
});

afterAll(async () => {
  await Promise.all([files.close(), practice.close()]);
  await rm(folder, { recursive: true });
});

test.each([
  ['native calls', { mode: 'native' }],
  ['native calls, streamed', { mode: 'native', stream: true }],
  ['the JSON envelope', { mode: 'json' }],
] as const)('it looks into the folder and answers rightly, with %s', async (_how, how) => {
  const { answer, calls } = await workThrough(practice.model, QUESTION, files, how);
  expect(calls.map(([name]) => name)).toEqual(['files_list_allowed_directories', 'files_list_directory_with_sizes']);
  expect(answer).toBe(
    `The folder ${folder} holds 2 files and 1 folder: large data.bin (4.88 KB), notes.md (19 B) and src/. ` +
      'The largest file is large data.bin with 4.88 KB.',
  );
});

test('the same question gets the same replies', async () => {
  const [first, second] = [
    await workThrough(practice.model, QUESTION, files),
    await workThrough(practice.model, QUESTION, files),
  ];
  expect(second).toEqual(first);
});

test('with a plainer server it asks for the sizes one by one', async () => {
  const plain = { ...files, tools: files.tools.filter((tool) => tool.name !== 'files_list_directory_with_sizes') };
  const { answer, calls } = await workThrough(practice.model, QUESTION, plain);
  expect(calls.map(([name]) => name).slice(1)).toEqual([
    'files_list_directory',
    'files_get_file_info',
    'files_get_file_info',
  ]);
  expect(answer).toContain('The largest file is large data.bin with 5000 bytes.');
});

test('another folder is another answer', async () => {
  const { answer } = await workThrough(practice.model, "What is in the folder 'src'?", files);
  expect(answer).toBe(`The folder ${join(folder, 'src')} holds 1 file: main.ts (11 B).`);
});

test('a folder that is not there is told frankly', async () => {
  const { answer } = await workThrough(practice.model, 'How many files are in the folder nowhere?', files);
  expect(answer).toContain('failed');
  expect(answer).toContain('nowhere');
});

test('a named file is read: its length and its first lines', async () => {
  const { answer } = await workThrough(practice.model, 'What are the first 2 lines of notes.md?', files);
  expect(answer).toBe(
    `${join(folder, 'notes.md')} has 3 lines and 19 characters. Its first 2 lines are:\nfirst\nsecond`,
  );
});

test('a file that lies deeper is found before it is read', async () => {
  const { answer, calls } = await workThrough(practice.model, 'How long is main.ts?', files);
  expect(calls.map(([name]) => name)).toContain('files_search_files');
  expect(answer).toContain(`${join(folder, 'src', 'main.ts')} has 1 line`);
});

test('files are found by kind', async () => {
  const { answer } = await workThrough(practice.model, 'Find all TypeScript files', files);
  expect(answer).toBe(`I found 1 match for *.ts: ${join(folder, 'src', 'main.ts')}.`);
});

test('a file is written when the question says so', async () => {
  onTestFinished(() => rm(join(folder, 'src', 'new.txt')));
  const { answer, calls } = await workThrough(
    practice.model,
    `Write "hello" to the file ${join(folder, 'src', 'new.txt')}`,
    files,
  );
  expect(calls).toEqual([['files_write_file', { path: join(folder, 'src', 'new.txt'), content: 'hello' }]]);
  expect(answer).toContain('Successfully wrote');
});

test('the next question of a conversation is a new one', async () => {
  const first = await workThrough(practice.model, QUESTION, files);
  const history = [
    { role: 'user', content: QUESTION },
    { role: 'assistant', content: first.answer },
  ] as const;
  const second = await workThrough(practice.model, 'What are the first 2 lines of notes.md?', files, { history });
  expect(second.answer).toContain('first\nsecond');
});
