import { AssertionError } from 'node:assert';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import type { JsonObject } from '../../src/json/json.ts';
import type { AnyResult } from '../../src/machines/contract/run-result.ts';
import {
  assertCalledTool,
  assertEndsWith,
  assertTransitions,
  assertVisited,
  matchers,
} from '../../src/testing/assertions.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import '../../src/testing/vitest.ts';
import { untyped } from '../agent/option-takers.ts';
import { calls, envelope, plan } from '../support/replies.ts';
import { withoutSums } from '../support/without-sums.ts';

function travel(replies: readonly ScriptedReply[] = [calls(['look', { city: 'Austin', days: 2 }]), 'It is 21 °C.']) {
  const tools = [fakeTool('look'), fakeTool('broken', [new Error('offline')])];
  return createAgent({ model: scriptedModel(replies), tools, silent: true }).run('How warm is it?');
}

function thrownBy(assertion: () => unknown): unknown {
  try {
    assertion();
  } catch (error) {
    return error;
  }
  return null;
}

async function failureOf(assertion: () => unknown): Promise<string> {
  try {
    await assertion();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error('The assertion was expected to fail.');
}

describe('a run, its result and its recording are all accepted', () => {
  test('the run is waited for, the others are judged at once', async () => {
    const run = travel();
    await expect(run).toEndWith('answer', '21 °C');
    const result = await run;
    for (const done of [result, run.recording(), run.recording().trim().split('\n')]) {
      expect(done).toEndWith('answered', /\d+ °C/);
      expect(done).toHaveVisited('PLANNING', 'DIRECT_EXECUTION', 'COMPLETION');
      expect(done).toHaveCalledTool('look', { city: 'Austin' });
      expect(done).toMatchTransitions([
        'PLANNING → DIRECT_EXECUTION',
        'DIRECT_EXECUTION -> PLANNING',
        'PLANNING → COMPLETION',
      ]);
      expect(done).not.toHaveVisited('ERROR_RECOVERY');
      expect(done).not.toHaveCalledTool('broken');
    }
  });

  test('anything else is refused in words', () => {
    // @ts-expect-error -- A number is no run.
    expect(() => matchers.toHaveVisited(5, 'PLANNING')).toThrow(/a Run, a RunResult or a recording/);
  });
});

describe('what could only ever hold, or never, is refused', () => {
  class Secret {
    readonly #word = 'hidden';
    toJSON() {
      return this.#word;
    }
  }
  test.each<readonly [what: string, judge: (done: AnyResult) => unknown, says: RegExp]>([
    [
      'a number as the text',
      (done) => untyped(matchers.toEndWith, done, 'answer', 21),
      /must be a text or a pattern, and is a number/,
    ],
    ['an object as the text', (done) => untyped(matchers.toEndWith, done, 'answer', {}), /and is an object/],
    ['null as the text', (done) => untyped(matchers.toEndWith, done, 'answer', null), /and is null/],
    [
      'a text as arguments',
      (done) => untyped(matchers.toHaveCalledTool, done, 'look', 'Austin'),
      /must be an object, and are a string/,
    ],
    [
      'a list as arguments',
      (done) => untyped(matchers.toHaveCalledTool, done, 'look', []),
      /must be an object, and are a list/,
    ],
    [
      'a Map as arguments',
      (done) => untyped(matchers.toHaveCalledTool, done, 'look', new Map([['city', 'Rome']])),
      /of the kind Map is/,
    ],
    [
      'a Set in arguments',
      (done) => untyped(matchers.toHaveCalledTool, done, 'look', { city: new Set() }),
      /of the kind Set is/,
    ],
    [
      'a promise in arguments',
      (done) => untyped(matchers.toHaveCalledTool, done, 'look', { city: Promise.resolve() }),
      /kind Promise is expected, which is no JSON/,
    ],
    [
      'an error in arguments',
      (done) => untyped(matchers.toHaveCalledTool, done, 'look', { city: new Error('no') }),
      /of the kind Error/,
    ],
    [
      'no number of times',
      (done) => untyped(matchers.toHaveCalledTool, done, 'look', {}, { times: Number.NaN }),
      /'times' must be a whole/,
    ],
    ['part of a time', (done) => untyped(matchers.toHaveCalledTool, done, 'look', {}, { times: 0.5 }), /and is 0\.5/],
    [
      'fewer than no times',
      (done) => untyped(matchers.toHaveCalledTool, done, 'look', {}, { times: -1 }),
      /from 0 on, and is -1/,
    ],
    [
      'times in words',
      (done) => untyped(matchers.toHaveCalledTool, done, 'look', {}, { times: '1' }),
      /'times' must be a whole number/,
    ],
  ])('%s', async (_what, judge, says) => {
    const done = await travel();
    const refusal = thrownBy(() => judge(done));
    expect(refusal).toMatchObject({ code: 'wrong-option', message: expect.stringMatching(says) });
  });

  test('what has a JSON form is compared by it, and a matcher of expect may be the text', async () => {
    const day = '2026-03-01T00:00:00.000Z';
    const run = travel([calls(['look', { day, at: 'https://a.example/', word: 'hidden' }]), 'It is 21 °C.']);
    await expect(run).toHaveCalledTool('look', { day: new Date(day), at: new URL('https://a.example') });
    await expect(run).toHaveCalledTool('look', { word: new Secret() });
    await expect(run).not.toHaveCalledTool('look', { day: new Date(0) });
    await expect(run).not.toHaveCalledTool('look', { word: { hidden: true } });
    await expect(run).toHaveCalledTool('look', undefined, { times: 1 });
    await expect(run).not.toHaveCalledTool('nobody', {}, { times: 1 });
    await expect(run).toHaveCalledTool('nobody', {}, { times: 0 });
    await expect(run).toEndWith('answer', expect.stringContaining('21 °C'));
    await expect(run).not.toEndWith('answer', expect.stringContaining('22 °C'));
  });

  test('a result without an output has none, as one that was written by hand', async () => {
    const { output: _output, ...bare } = await travel();
    expect(untyped(matchers.toHaveOutput, bare)).toMatchObject({ pass: false });
  });

  test('a call whose tool has given nothing yet gave neither null nor anything', async () => {
    const hangs = fakeTool('look', [() => new Promise(() => undefined)]);
    const run = createAgent({ model: scriptedModel([calls(['look'])]), tools: [hangs], silent: true }).run('Look');
    for await (const event of run) if (event.type === 'tool.started') void run.cancel();
    await expect(run).toHaveCalledTool('look', {}, { times: 1 });
    await expect(run).not.toHaveCalledTool('look', {}, { result: null });
    await expect(run).not.toHaveCalledTool('look', {}, { result: { asymmetricMatch: () => true } });
  });

  test.each<readonly [what: string, behind: (lines: readonly string[]) => readonly string[]]>([
    ['another end', (lines) => lines.slice(-1).map((line) => line.replace('21', '99'))],
    [
      'a call',
      (lines) => lines.filter((line) => line.includes('callTool')).map((line) => line.replaceAll('look', 'nuke')),
    ],
  ])('a recording with %s behind its end is none that was played', async (_what, behind) => {
    const run = travel();
    await run;
    const lines = withoutSums(run.recording()).trim().split('\n');
    expect(lines).toEndWith('answer', '21 °C');
    const longer = [...lines, ...behind(lines)];
    const at = { code: 'replay-divergence', entry: lines.length + 1, expected: expect.stringMatching(/^more behind/) };
    expect(thrownBy(() => matchers.toEndWith(longer, 'answer'))).toMatchObject(at);
    const tools = [fakeTool('look'), fakeTool('broken', [new Error('offline')])];
    await expect(replay(longer, createAgent({ tools, silent: true }))).rejects.toMatchObject(at);
  });

  test.each([
    ['that has ended', 8],
    ['that has not', 5],
  ])('two runs in one file are no recording: behind one %s begins another', async (_what, count) => {
    const run = travel();
    await run;
    const lines = run.recording().trim().split('\n');
    expect(lines).toHaveLength(8);
    const both = [...lines.slice(0, count), ...lines];
    const at = { code: 'bad-recording', line: count + 1, what: expect.stringMatching(/^begins another run/) };
    expect(thrownBy(() => matchers.toEndWith(both, 'answer'))).toMatchObject(at);
    expect(thrownBy(() => replay(both, createAgent({ silent: true })))).toMatchObject(at);
  });
});

test('a global pattern is one that each call is held against from its beginning', async () => {
  const run = travel([calls(['look', { city: 'Austin' }], ['look', { city: 'Austin' }]), 'Fine.']);
  const city = /Austin/g;
  await expect(run).toHaveCalledTool('look', { city }, { times: 2 });
  await expect(run).toHaveCalledTool('look', { city }, { times: 2 });
  await expect(run).not.toHaveCalledTool('look', { city: /Boston/g });
});

describe('toHaveVisited', () => {
  test('a state that no machine has is refused, so that no run is said not to have visited it', async () => {
    const misspelt = /No machine of a run has a state 'BACKING_OF'. Did you mean 'BACKING_OFF'\?/;
    expect(await failureOf(() => expect(travel()).not.toHaveVisited('BACKING_OF'))).toMatch(misspelt);
    expect(await failureOf(() => expect(travel()).toHaveVisited('ASKING', 'RUNNING.BACKING_OF'))).toMatch(misspelt);
  });

  test('looks at the order, and into the parts of a run', async () => {
    const run = travel([calls(['broken']), 'Sorry.']);
    await expect(run).toHaveVisited('DIRECT_EXECUTION', 'ERROR_RECOVERY', 'PLANNING.ASKING');
    await expect(run).toHaveVisited('RUNNING');
    await expect(run).not.toHaveVisited('ERROR_RECOVERY', 'DIRECT_EXECUTION');
    await expect(run).not.toHaveVisited('BACKING_OFF');
  });

  test('a state was visited twice if it was left in between, in a run, its recording and its result alike', async () => {
    const [once, twice] = [travel(['It is 21 °C.']), travel()];
    await Promise.all([once, twice]);
    for (const seen of [await once, once.recording()]) {
      expect(seen).toHaveVisited('PLANNING', 'COMPLETION');
      expect(seen).not.toHaveVisited('PLANNING', 'PLANNING');
    }
    for (const seen of [await twice, twice.recording()]) {
      expect(seen).toHaveVisited('PLANNING', 'PLANNING');
      expect(seen).not.toHaveVisited('PLANNING', 'PLANNING', 'PLANNING');
    }
  });

  test("a state of an agent below is not the agent's own", async () => {
    const tools = [fakeTool('broken', [new Error('offline')])];
    const clerk = createAgent({ name: 'clerk', model: scriptedModel([calls(['broken']), 'No.']), tools, silent: true });
    const model = scriptedModel([calls(['clerk', { task: 'Do it' }]), 'Done.']);
    const run = createAgent({ model, children: [clerk], silent: true }).run('Do it');
    await expect(run).not.toHaveVisited('ERROR_RECOVERY');
    expect(run.transitions().some(({ to }) => to.startsWith('ERROR_RECOVERY'))).toBe(true);
  });

  test('shows the way that was taken, and how it ended', async () => {
    expect(await failureOf(() => expect(travel()).toHaveVisited('ERROR_RECOVERY'))).toBe(
      `expected the run to have visited ERROR_RECOVERY, but it never did:
  PLANNING → DIRECT_EXECUTION → PLANNING → COMPLETION
  ended as answered (answer): "It is 21 °C."`,
    );
    const order = await failureOf(() => expect(travel()).toHaveVisited('COMPLETION', 'DIRECT_EXECUTION'));
    expect(order).toContain('but DIRECT_EXECUTION did not come after the ones before it');
    const not = await failureOf(() => expect(travel()).not.toHaveVisited('PLANNING'));
    expect(not).toContain('expected the run not to have visited PLANNING, but it did');
  });

  test('says that a result knows nothing of inner states', async () => {
    const result = await travel();
    expect(() => expect(result).toHaveVisited('RUNNING')).toThrow(/not RUNNING. Give the Run or its recording/);
  });
});

describe('toHaveCalledTool', () => {
  test('takes part of the arguments, patterns, and how often', async () => {
    const run = travel([calls(['look', { city: 'Oslo', at: [1, 2] }]), calls(['look', { city: 'Rome' }]), 'Done.']);
    await expect(run).toHaveCalledTool('look', { city: /^O/ });
    await expect(run).toHaveCalledTool('look', { city: expect.any(String) }, { times: 2 });
    await expect(run).toHaveCalledTool('look', { at: [1, 2] });
    await expect(run).not.toHaveCalledTool('look', { at: [1] });
    await expect(run).not.toHaveCalledTool('look', {}, { times: 1 });
  });

  test('says what the tool gave: members of its data, or of the whole result', async () => {
    const tools = [fakeTool('look', [{ celsius: 21, wind: 3 }, new Error('dark')])];
    const model = scriptedModel([calls(['look', { n: 1 }]), calls(['look', { n: 2 }]), 'Done.']);
    const run = createAgent({ model, tools, silent: true }).run('Look');
    await expect(run).toHaveCalledTool('look', { n: 1 }, { result: { celsius: 21 } });
    await expect(run).toHaveCalledTool('look', { n: 1 }, { result: { status: 'success' } });
    await expect(run).toHaveCalledTool('look', { n: 2 }, { result: { status: 'error', error: /dark/ } });
    await expect(run).not.toHaveCalledTool('look', { n: 2 }, { result: { celsius: 21 } });
    const message = await failureOf(() => expect(run).toHaveCalledTool('look', undefined, { result: { celsius: 4 } }));
    expect(message).toContain(
      'to have called look and got {"celsius":4}, but it called:\n  look({"n":1}) gave {"status"',
    );
    const result = await run;
    expect(() => expect(result).toHaveCalledTool('look', {}, { result: 1 })).toThrow(/has no results of tools/);
  });

  test.each([
    ['native calls', [calls(['look', { city: 'Austin' }]), 'Done.']],
    ['a plan', [plan(['look', { city: 'Austin' }]), 'Done.']],
    ['an envelope', [envelope({ tool: 'look', tool_args: { city: 'Austin' } }), envelope({ answer: 'Done.' })]],
  ])('reads the arguments of %s out of a result too', async (_what, replies) => {
    const run = travel(replies);
    expect(await run).toHaveCalledTool('look', { city: 'Austin' });
    await expect(run).toHaveCalledTool('look', { city: 'Austin' }, { times: 1 });
  });

  test('a child agent is a tool, in a run, its recording and its result', async () => {
    const clerk = createAgent({
      name: 'clerk',
      model: scriptedModel([calls(['look', { n: 1 }]), 'Found.', 'Hm.']),
      tools: [fakeTool('look')],
    });
    const model = scriptedModel([
      calls(['clerk', { task: 'Find it' }], ['clerk', { task: 7 }], ['clerk', { by: [] }], ['nobody']),
      'Done.',
    ]);
    const run = createAgent({ model, children: [clerk], silent: true, parallelToolCalls: false }).run('Find');
    await expect(run).toHaveCalledTool('clerk', { task: 'Find it' }, { times: 1, result: 'Found.' });
    for (const seen of [run.recording(), await run]) {
      expect(seen).toHaveCalledTool('clerk', { task: /^Find/ });
      expect(seen).not.toHaveCalledTool('nobody');
    }
    await expect(run).toHaveCalledTool('look', { n: 1 }, { times: 1 });
    const message = await failureOf(() => expect(run).toHaveCalledTool('nobody'));
    expect(message).toContain(
      'it called:\n  clerk({"task":"Find it"})\n  look({"n":1})\n  clerk({"task":"7"})\n  ended as',
    );
  });

  test('a call that did not run does not count', async () => {
    const run = travel([calls(['look', '{"city": "Aus']), calls(['nowhere']), 'Done.']);
    await expect(run).not.toHaveCalledTool('look');
    expect(await run).not.toHaveCalledTool('nowhere');
  });

  test('lists twenty calls, and a difference only where one call has one', async () => {
    const many = calls(...Array.from({ length: 22 }, (_, n): [string, JsonObject] => ['look', { n }]));
    const message = await failureOf(() => expect(travel([many, 'Done.'])).toHaveCalledTool('look', { n: 99 }));
    expect(message.match(/^ {2}look\(/gm)).toHaveLength(20);
    expect(message).toContain('  … and 2 more');
    expect(message).not.toContain('first difference');
    const often = await failureOf(() => expect(travel()).toHaveCalledTool('look', { city: 'Austin' }, { times: 2 }));
    expect(often).toContain('did so once');
    expect(often).not.toContain('first difference');
  });

  test('lists the calls and the first difference', async () => {
    expect(await failureOf(() => expect(travel()).toHaveCalledTool('look', { city: 'Oslo' }))).toBe(
      `expected the run to have called look with {"city":"Oslo"}, but it called:
  look({"city":"Austin","days":2})
  first difference: /city: "Oslo" → "Austin"
  ended as answered (answer): "It is 21 °C."`,
    );
    const none = await failureOf(() => expect(travel(['Hi.'])).toHaveCalledTool('look', undefined, { times: 1 }));
    expect(none).toContain('expected the run to have called look once, but it ran no tool at all:');
  });
});

describe('toEndWith', () => {
  test('shows the text and the error', async () => {
    const message = await failureOf(() => expect(travel([new Error('gone')])).toEndWith('answer'));
    expect(message).toMatch(/^expected the run to end with answer, but it\n {2}ended as failed \(llm-error\): "Unable/);
    expect(message).toMatch(/error: model-error at step 1: /);
    const text = await failureOf(() => expect(travel()).toEndWith('answer', 'cold'));
    expect(text).toContain('to end with answer, saying "cold", but it\n  ended as answered (answer): "It is 21 °C."');
  });

  test('refuses a word that is no ending: a typo never passes', async () => {
    const result = await travel();
    // @ts-expect-error -- No such ending.
    expect(() => expect(result).not.toEndWith('answerd')).toThrow(/'answerd' is neither a reason nor a status/);
  });
});

describe('toMatchTransitions', () => {
  test('compares with another run or recording, transition by transition of every machine', async () => {
    const [run, same, other] = [travel(), travel(), travel(['Hi.'])];
    await expect(run).toMatchTransitions(same);
    await expect(run).toMatchTransitions(same.recording());
    await expect(run).toMatchTransitions(same.transitions());
    await expect(run).not.toMatchTransitions(other);
    await expect(run).not.toMatchTransitions([]);
  });

  test('what holds no transitions is refused, such as a result', async () => {
    const run = travel();
    const result = await run;
    for (const wrong of [
      result,
      undefined,
      null,
      5,
      {},
      [null],
      [5],
      [['PLANNING → COMPLETION']],
      Promise.resolve(run),
    ])
      expect(() => untyped(matchers.toMatchTransitions, run, wrong)).toThrow(
        expect.objectContaining({ code: 'wrong-option', message: expect.stringMatching(/A RunResult has none/) }),
      );
  });

  test('waits for the other run too, and compares whose transitions they are', async () => {
    const done = travel();
    await done;
    const slow = fakeTool('look', [() => new Promise((resolve) => setTimeout(resolve, 50))]);
    const model = scriptedModel([calls(['look', { city: 'Austin', days: 2 }]), 'It is 21 °C.']);
    await expect(done).toMatchTransitions(createAgent({ model, tools: [slow], silent: true }).run('How warm is it?'));
    const others = done.transitions().map((one) => ({ ...one, actor: `${one.actor}/other` }));
    await expect(done).not.toMatchTransitions(others);
  });

  test('shows where the ways part', async () => {
    const wanted = ['PLANNING → DIRECT_EXECUTION', 'tool.failed: DIRECT_EXECUTION → ERROR_RECOVERY'];
    expect(await failureOf(() => expect(travel()).toMatchTransitions(wanted))).toBe(
      `expected the run to take other transitions, from transition 2 on (- expected, + taken):
    PLANNING → DIRECT_EXECUTION
  - tool.failed: DIRECT_EXECUTION → ERROR_RECOVERY
  + tool.succeeded: DIRECT_EXECUTION → PLANNING
  + model.replied: PLANNING → COMPLETION
  ended as answered (answer): "It is 21 °C."`,
    );
    await expect(failureOf(() => expect(travel()).toMatchTransitions(['PLANNING to'])).then(String)).resolves.toContain(
      '"PLANNING to" is not a transition.',
    );
  });
});

describe('the assertions for runners without expect', () => {
  test('hold, or throw an AssertionError with the same words', async () => {
    const run = travel();
    await assertVisited(run, 'DIRECT_EXECUTION');
    await assertEndsWith(run, 'answer');
    await assertCalledTool(run, 'look', { city: 'Austin' }, { times: 1 });
    await assertTransitions(run, run.recording());
    await expect(assertEndsWith(run, 'loop')).rejects.toThrow(AssertionError);
    // Without it, jest says that undefined was expected.
    await expect(assertEndsWith(run, 'loop')).rejects.toMatchObject({ operator: 'fail' });
    const error = await assertEndsWith(run, 'loop').catch((thrown: Error) => thrown);
    expect(error?.stack?.split('\n').find((line) => line.includes(' at '))).toContain('matchers.test.ts');
    const result = await run;
    expect(() => assertVisited(result, 'ERROR_RECOVERY')).toThrow(/expected the result to have visited ERROR_RECOVERY/);
    expect(() => assertCalledTool(result, 'broken')).toThrow(AssertionError);
    expect(() => assertTransitions(result, ['PLANNING → COMPLETION'])).toThrow(/from transition 1 on/);
  });
});
