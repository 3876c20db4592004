import { describe, expect, test } from 'vitest';
import {
  type ComparedRow,
  compareRuns,
  pairAt,
  type ComparedRun,
  rolesOf,
  type Fold,
  foldRows,
} from '../../../src/inspector/page/model/compare/compare-runs.ts';
import { jsonDiff, LENIENT } from '../../../src/inspector/page/model/compare/json-diff.ts';
import { textDifference } from '../../../src/inspector/page/model/compare/align.ts';
import type { StepInfo } from '../../../src/inspector/frames/protocol.ts';
import { framesOfScene, modelOf, sessionOf, step } from './fixture.ts';
import { workedMs } from '../../support/steady-time.ts';

/** A run of one actor that goes to one state after the other. */
function going(...states: readonly string[]): ComparedRun {
  return { steps: states.map((to, index) => step(index + 1, to)), actors: new Map(), told: [], records: [] };
}

/** The same run as it would have been recorded another time, its texts changed. */
function again(scene: string, change: (text: string) => string): ComparedRun {
  const frames: unknown = JSON.parse(change(JSON.stringify(framesOfScene(scene))));
  return modelOf(frames as never).session;
}

const picture = ({ rows }: { readonly rows: readonly ComparedRow[] }): readonly string[] =>
  rows.map(({ kind, left, right }) => `${kind} ${left ?? '-'} ${right ?? '-'}`);

describe('two runs beside each other', () => {
  test('are in line again after a retry that only one of them has', () => {
    const short = going('A', 'B', 'C', 'D');
    const long = going('A', 'B', 'RETRY', 'PAUSE', 'C', 'D');
    const { first, differing } = compareRuns(long, short);

    expect([first, differing]).toEqual([2, 2]);
    expect(picture(compareRuns(long, short))).toEqual([
      'same 0 0',
      'same 1 1',
      'left 2 -',
      'left 3 -',
      'same 4 2',
      'same 5 3',
    ]);
    expect(picture(compareRuns(short, long))).toEqual([
      'same 0 0',
      'same 1 1',
      'right - 2',
      'right - 3',
      'same 2 4',
      'same 3 5',
    ]);
  });

  test('have other moves beside each other where both went their own way', () => {
    expect(picture(compareRuns(going('A', 'B', 'C', 'Z'), going('A', 'X', 'Z')))).toEqual([
      'same 0 0',
      'apart 1 1',
      'left 2 -',
      'same 3 2',
    ]);
  });

  test('have each of their steps in exactly one line', () => {
    const { rows } = compareRuns(sessionOf('plan-recovery'), sessionOf('loop'));

    expect(rows.flatMap(({ left }) => left ?? [])).toEqual([...sessionOf('plan-recovery').steps.keys()]);
    expect(rows.flatMap(({ right }) => right ?? [])).toEqual([...sessionOf('loop').steps.keys()]);
  });

  test('do not differ when only their times, ids and seeds do', () => {
    const other = again('plan-recovery', (text) =>
      text
        .replaceAll(/"at":(\d+)/g, (_, at) => `"at":${Number(at) * 7 + 1}`)
        .replaceAll(/"runId":"[^"]*"/g, '"runId":"another"')
        .replaceAll(/"(seed|jitterSeed)":\d+/g, '"$1":99'),
    );

    expect(compareRuns(sessionOf('plan-recovery'), other)).toMatchObject({ first: null, differing: 0 });
  });

  test('differ where the same move was made on something else, and it is said what', () => {
    const other = again('parallel', (text) => text.replaceAll('"celsius":4,', '"celsius":-11,'));
    const { rows, first } = compareRuns(sessionOf('parallel'), other);

    expect(first).toBe(22);
    expect(rows[22]).toEqual({ kind: 'data', left: 22, right: 22, what: 'output.data.celsius' });
    expect(rows.filter(({ kind }) => kind !== 'same')).toHaveLength(1);
  });

  test('differ from the first move on when they were given another task', () => {
    const other = again('parallel', (text) =>
      text.replaceAll('"input":"Where is it warmer', '"input":"Where is it colder'),
    );

    expect(compareRuns(sessionOf('parallel'), other).rows[0]).toMatchObject({ kind: 'data', what: 'input' });
  });

  test('find calls of the same tool in each other, whatever number they have', () => {
    const shifted = again('loop', (text) => text.replaceAll(/\bc(\d)\b/g, (_, n) => `c${Number(n) + 3}`));

    expect(compareRuns(sessionOf('loop'), shifted).differing).toBe(0);
  });

  test('of 10 000 moves each are compared in a moment, however little they have in common', () => {
    const long = (salt: number): ComparedRun =>
      going(...Array.from({ length: 10_000 }, (_, at) => `S${(at * salt) % 11}${at % 97 === 0 ? salt : ''}`));
    const began = workedMs();
    const { rows } = compareRuns(long(3), long(7));

    expect(rows.length).toBeGreaterThan(10_000);
    // Some twenty times what it takes, and a small part of what a comparison of each with each would.
    expect(workedMs() - began).toBeLessThan(5000);
  });
});

test('actors are named by what they do: calls by their tool, the second of a kind that goes on beside the first as such', () => {
  const roles = (scene: string): ReadonlySet<string> => new Set(rolesOf(sessionOf(scene)));

  expect(roles('parallel')).toEqual(
    new Set(['agent', 'agent/llmCall', 'agent/loopDetection', 'agent/get_weather', 'agent/get_weather·2']),
  );
  expect(roles('plan-recovery')).toEqual(
    new Set(['agent', 'agent/llmCall', 'agent/loopDetection', 'agent/get_weather', 'agent/book_table']),
  );
});

describe('what is shown of a line', () => {
  const by = (actor: string, to: string, n: number): StepInfo => step(n, to, { actor });
  const left: ComparedRun = {
    ...going(),
    steps: [by('a', 'RUNNING', 1), by('a', 'FAILED', 2), by('a', 'RUNNING', 3), by('a', 'DONE', 4)],
  };
  const right: ComparedRun = { ...going(), steps: [by('a', 'RUNNING', 1), by('a', 'DONE', 2)] };

  test('is what the other side did instead, where one side begins to go its own way', () => {
    const comparison = compareRuns(left, right);

    expect(picture(comparison)).toEqual(['same 0 0', 'left 1 -', 'left 2 -', 'same 3 1']);
    expect(pairAt(comparison, 1)).toEqual({ left: 1, right: 1, without: 'B', next: 1 });
    expect(pairAt(comparison, 2)).toEqual({ left: 2, right: null, without: 'B', next: 1 });
    expect(pairAt(compareRuns(right, left), 1)).toEqual({ left: 1, right: 1, without: 'A', next: 1 });
  });

  test('is that the other run was over, where it was', () => {
    const comparison = compareRuns(going('A', 'B'), going('A'));

    expect(pairAt(comparison, 1)).toEqual({ left: 1, right: null, without: 'B', next: null });
    expect(pairAt(comparison, 0)).toEqual({ left: 0, right: 0, without: null, next: null });
  });
});

describe('what does not count', () => {
  const counted = (left: object, right: object): readonly string[] =>
    jsonDiff(JSON.parse(JSON.stringify(left)), JSON.parse(JSON.stringify(right)), 50, LENIENT).map(({ path }) => path);

  test('are times, durations, seeds, and the ids of runs and calls', () => {
    const one = {
      at: 1,
      durationMs: 2,
      runId: 'a',
      seed: 3,
      day: '2026-01-01T00:00:00.000Z',
      toolCalls: [{ id: 'x' }],
      stats: { a: 1 },
    };
    const other = {
      at: 9,
      durationMs: 8,
      runId: 'b',
      seed: 7,
      day: '2026-02-02T01:01:01.5Z',
      toolCalls: [{ id: 'y' }],
      stats: { a: 2 },
    };

    expect(counted(one, other)).toEqual([]);
  });

  test('are the numbers of calls, wherever they name something', () => {
    const one = { type: 'xstate.done.actor.c3', actor: 'agent/c3/callTool', outcomes: { c3: { ok: true, n: 1 } } };
    const other = { type: 'xstate.done.actor.c5', actor: 'agent/c5/callTool', outcomes: { c5: { ok: true, n: 2 } } };

    expect(counted(one, other)).toEqual(['outcomes.c5.n']);
    expect(counted({ text: 'take c3' }, { text: 'take c5' })).toEqual(['text']);
    expect(counted({ c3: 1 }, { c3: 1, c5: 1 })).toEqual(['c5']);
    expect(counted({ a: 1 }, { b: 1 })).toEqual(['a', 'b']);
  });

  test('is nothing else: not what only one side has, nor what is named alike and means something', () => {
    expect(counted({ id: 7, at: 'London', runId: 'a' }, { id: 8, at: 'Oslo' })).toEqual(['id', 'at', 'runId']);
    expect(counted({ timeoutMs: 5, day: '2026-01-01' }, { timeoutMs: 6, day: '2026-01-02' })).toEqual([
      'timeoutMs',
      'day',
    ]);
    expect(counted({ seed: 1 }, { seed: 'one' })).toEqual(['seed']);
  });

  test('does not shift lists: messages that differ in the ids of calls alone are the same', () => {
    const message = (id: string, content: string): object => ({ role: 'tool', toolCallId: id, content });
    const left = { messages: [message('1', 'a'), message('2', 'b'), message('3', 'c'), message('4', 'e')] };
    const right = { messages: [message('7', 'x'), message('8', 'b'), message('9', 'f')] };

    expect(counted(left, right)).toEqual(['messages[0].content', 'messages[2].content', 'messages[3]']);
  });
});

test('stretches that are the same are folded, but for some lines around what is not', () => {
  const folded = (opened: readonly Fold[], differing: readonly number[]) =>
    foldRows({ count: 30, counts: (index) => differing.includes(index), opened }).map((row) =>
      row.kind === 'fold' ? `${row.from}+${row.count}` : row.index,
    );

  expect(folded([], [10])).toEqual(['0+7', 7, 8, 9, 10, 11, 12, 13, '14+16']);
  expect(folded([{ from: 14, count: 16 }], [10]).slice(0, 9)).toEqual(['0+7', 7, 8, 9, 10, 11, 12, 13, 14]);
  // What was opened stays open when a row of it is chosen.
  expect(folded([{ from: 14, count: 16 }], [10, 20])).not.toContainEqual(expect.stringMatching(/^(?:14|24)\+/));
  expect(folded([], [4, 14])).not.toContain('8+3');
  expect(folded([], [])).toHaveLength(30);
});

test('of two texts the part is marked in which they differ, and no character is cut in two', () => {
  expect(textDifference('two orders in all', 'ten orders in all')).toEqual({
    head: 't',
    left: 'wo',
    right: 'en',
    tail: ' orders in all',
  });
  expect(textDifference('aa', 'aaa')).toEqual({ head: 'aa', left: '', right: 'a', tail: '' });
  expect(textDifference('a😀b', 'a😁b')).toEqual({ head: 'a', left: '😀', right: '😁', tail: 'b' });
  expect(textDifference('\u{1F600}', '\u{1FA00}')).toMatchObject({ left: '\u{1F600}', right: '\u{1FA00}' });
});
