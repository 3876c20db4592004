import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recordingText } from '../../src/cli/recording/recording-text.ts';
import { type Json, isJsonObject } from '../../src/json/json.ts';
import { RecordingError } from '../../src/journal/format/journal-error.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { ReplayDivergenceError } from '../../src/journal/replay/divergence.ts';
import { replay, transitions } from '../../src/journal/replay/replay.ts';
import { agentMachine } from '../../src/machines/agent/agent.ts';
import { openTerminal } from '../../src/output/console/terminal.ts';
import { playBack } from '../../src/testing/explore/findings.ts';
import { useRecording } from '../../src/testing/recordings/use-recording.ts';
import { runCli } from '../cli/spawn-cli.ts';
import { asking } from '../recordings/agents.ts';
import { withoutSums } from '../support/without-sums.ts';
import { temporaryFolder } from './temporary-folder.ts';

const RECORDINGS = new URL('../recordings/', import.meta.url);
const linesOf = (name: string): readonly string[] =>
  withoutSums(readFileSync(new URL(name, RECORDINGS), 'utf8'))
    .trimEnd()
    .split('\n');
const recordings = readdirSync(RECORDINGS).filter((name) => name.endsWith('.jsonl'));

/** The value with one of its members, at whatever depth, replaced by something else. */
function tampered(value: Json | undefined, [first, ...rest]: readonly number[], wrong: Json): Json {
  if (first === undefined || (!Array.isArray(value) && !isJsonObject(value))) return wrong;
  const entries: readonly (readonly [string, Json])[] = Object.entries(value);
  const changed = entries.map(([name, member], index): readonly [string, Json] =>
    index === first % entries.length ? [name, tampered(member, rest, wrong)] : [name, member],
  );
  return Array.isArray(value) ? changed.map(([, member]) => member) : Object.fromEntries(changed);
}

const terminal = openTerminal(process.stdout);
const READERS = [
  (text: string) => transitions(text),
  (text: string) => playBack(text, agentMachine),
  (text: string) => recordingText(readRecording(text), terminal, { full: true }),
];

test('whatever one value of a committed recording is replaced by, its readers give a result or an error of recordings', () => {
  const wrong = fc.constantFrom<Json[]>(null, 5, 'x', '', 'false', true, [], {}, [null], { a: 1 });
  const path = fc.array(fc.nat(30), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.constantFrom(...recordings), fc.nat(), path, wrong, (name, nth, at, value) => {
      const lines = linesOf(name);
      const index = nth % 3 === 0 ? 0 : nth % lines.length;
      const line: Json = JSON.parse(lines[index] ?? '');
      const text = lines.with(index, JSON.stringify(tampered(line, at, value))).join('\n');
      for (const read of READERS) {
        try {
          read(text);
        } catch (error) {
          const isOwn = error instanceof RecordingError || error instanceof ReplayDivergenceError;
          expect(isOwn, String(error)).toBe(true);
        }
      }
    }),
    { numRuns: 100 },
  );
});

test.each([
  [1, 'toolset', null],
  [1, 'history', null],
  [1, 'options', null],
  [3, 'ok', 'false'],
  [3, 'at', 'soon'],
  [10, 'event', null],
  [10, 'to', [null]],
])('line %i with %s: %j is named by whatever plays the recording', async (line, name, value) => {
  await using folder = await temporaryFolder();
  const lines = linesOf('approval.jsonl');
  const changed = JSON.stringify({ ...JSON.parse(lines[line - 1] ?? ''), [name]: value });
  const text = lines.with(line - 1, changed).join('\n');
  const path = join(folder.path, 'approval.jsonl');
  writeFileSync(path, text);
  const named = { name: 'RecordingError', code: 'bad-recording', line, message: expect.stringContaining(name) };
  await expect(async () => replay(text, asking())).rejects.toMatchObject(named);
  await expect(async () => useRecording(path).run(asking(), 'Pay the bills.')).rejects.toMatchObject(named);
  const validated = await runCli(['recording', 'validate', path, '--json'], { cwd: folder.path });
  expect(validated).toMatchObject({ code: 1, stderr: '' });
  expect(JSON.parse(validated.stdout)).toMatchObject({
    valid: false,
    problems: expect.arrayContaining([expect.objectContaining({ line })]),
  });
});
