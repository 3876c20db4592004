import { expect, test } from 'vitest';
import { and, createMachine, not, or, setup } from 'xstate';
import { OWN_MACHINES } from '../../src/inspector/diagram/own-machines.ts';
import { mermaid } from '../../src/inspector/diagram/mermaid.ts';
import { withDiagrams } from '../../scripts/diagrams/with-diagrams.ts';
import { AGENT_STATES } from '../../src/machines/contract/run-result.ts';
import { document } from './documents.ts';

test.each(['README.md', 'docs/machines.md'])(
  'the diagrams of %s are those of the machines (npm run diagrams)',
  (path) => {
    const { text } = document(path);
    expect(text).toContain('<!-- diagram: ');
    expect(text).toBe(withDiagrams(text));
  },
);

test('every machine is drawn somewhere', () => {
  const text = document('README.md').text + document('docs/machines.md').text;
  for (const name of OWN_MACHINES.keys())
    expect(text).toMatch(new RegExp(`<!-- diagram: ${name}(, without actions)? -->`));
});

test('the diagram of the agent has its five states', () => {
  const { text } = document('README.md');
  for (const state of AGENT_STATES)
    expect(text).toMatch(new RegExp(`^  (state ${state} \\{|.* --> ${state} :.*)$`, 'm'));
});

test('a stale diagram is replaced, and what stands around it stays', () => {
  const stale = 'before\n<!-- diagram: llmCall -->\nold\n<!-- /diagram -->\nafter';
  const fresh = withDiagrams(stale);
  expect(fresh).toMatch(
    /^before\n<!-- diagram: llmCall -->\n\n```mermaid\nstateDiagram-v2\n[\s\S]*<!-- \/diagram -->\nafter$/,
  );
  expect(withDiagrams(fresh)).toBe(fresh);
});

test('a marker of a machine that is not there is an error', () => {
  expect(() => withDiagrams('<!-- diagram: dragon --><!-- /diagram -->')).toThrow(/no machine 'dragon'/);
});

test('an arrow says event, guard and actions; those of an inside start at its border', () => {
  const machine = setup({
    actors: { fetchIt: createMachine({}) },
    actions: { noteTheTime: () => {}, tellOthers: () => {} },
    guards: { isLate: () => true, stepIs: (_args, kind: string) => kind !== '' },
    delays: { shortPause: 1 },
  }).createMachine({
    initial: 'A',
    on: { 'run.cancelled': '.C' },
    states: {
      A: {
        initial: 'X',
        states: {
          X: {
            invoke: { src: 'fetchIt', onDone: { target: 'Y', actions: ['noteTheTime', 'tellOthers'] }, onError: '#c' },
          },
          Y: { always: [{ guard: not('isLate'), target: 'X' }, { target: '#b' }] },
        },
      },
      B: {
        id: 'b',
        always: { guard: { type: 'stepIs', params: 'fix-agent' }, target: 'A' },
        after: { shortPause: 'C' },
        on: { 'mcp.paused': { guard: 'isLate', target: 'C', actions: 'tellOthers' } },
      },
      C: { id: 'c', type: 'final' },
    },
  });
  expect(mermaid(machine).split('\n')).toEqual([
    'stateDiagram-v2',
    '  [*] --> A',
    '  state A {',
    '    [*] --> X',
    '    X --> Y : fetch it done / note the time, tell others',
    '    Y --> X : [is not late]',
    '  }',
    '  A --> C : fetch it failed',
    '  A --> B : [otherwise]',
    '  B --> C : mcp.paused [is late] / tell others<br/>after short pause',
    '  B --> A : [step is fix-agent]',
    '  C --> [*]',
    '  note right of C : from any other state<br/>run.cancelled',
  ]);
  const less = mermaid(machine, { actions: false });
  expect(less).toContain('B --> C : mcp.paused [is late]<br/>');
  expect(less).not.toContain(' / ');
});

test('parallel regions are divided, history states are H and H*, and names of any kind are harmless', () => {
  const inner = { initial: 'a', states: { a: { on: { go: 'b' } }, b: { on: { 'go: <b>;': '#q' } } } };
  const machine = createMachine({
    id: 'my machine',
    type: 'parallel',
    states: {
      one: {
        initial: 'in',
        states: {
          in: {
            ...inner,
            states: {
              ...inner.states,
              past: { type: 'history' },
              all: { history: 'deep', type: 'history', target: 'b' },
            },
          },
          'out {': { on: { back: 'in.past', wholly: 'in.all' } },
        },
      },
      two: { initial: 'q', states: { q: { id: 'q' } } },
      end: {},
    },
  });
  expect(mermaid(machine).split('\n')).toEqual([
    'stateDiagram-v2',
    '  state "my machine" as s_ {',
    '    state one {',
    '      [*] --> in',
    '      state in {',
    '        [*] --> a',
    '        state "H" as s_one_in_past',
    '        state "H*" as s_one_in_all',
    '        a --> b : go',
    '        s_one_in_past --> a',
    '        s_one_in_all --> b',
    '      }',
    '      state "out #123;" as s_one_out__',
    '      s_one_out__ --> in : back → H<br/>wholly → H*',
    '    }',
    '    note right of one : go#58; #60;b#62;#59; → two.q',
    '    --',
    '    state two {',
    '      [*] --> q',
    '    }',
    '    --',
    '    state "end" as s_end',
    '  }',
  ]);
});

test('two states of one name are two states', () => {
  const rest = { initial: 'REST', states: { REST: {} } };
  const lines = mermaid(createMachine({ initial: 'A', states: { A: rest, REST: {} } }));
  expect(lines).toContain('state "REST" as s_A_REST');
});

test('a name with a dot is that of one state, beside one with the same path', () => {
  const machine = createMachine({
    initial: 'a',
    states: {
      a: { initial: 'b', states: { b: { on: { in: 'c' } }, c: {} }, on: { out: '#beside' } },
      'a.b': { id: 'beside', on: { back: 'a' } },
    },
  });
  expect(mermaid(machine).split('\n').slice(2)).toEqual([
    '  state a {',
    '    [*] --> b',
    '    b --> c : in',
    '  }',
    '  state "a.b" as s_a__b',
    '  a --> s_a__b : out',
    '  s_a__b --> a : back',
  ]);
});

test.each(['root', 'href', 'accTitle', 'accDescr', 'stateDiagram', 'constructor', '__start__', 'State'])(
  'a state may be called %s, which is a word of Mermaid',
  (name) => {
    const machine = createMachine({ initial: 'A', states: { A: { on: { go: name } }, [name]: {} } });
    expect(mermaid(machine).split('\n').slice(2)).toEqual([`  state "${name}" as s_${name}`, `  A --> s_${name} : go`]);
  },
);

test("no state is taken for Mermaid's own dots, and one without a name has an empty box", () => {
  const inner = { initial: 'start', states: { start: { on: { go: 'end' } }, end: { type: 'final' } } } as const;
  const machine = createMachine({ initial: 'a', states: { a: inner, 'a b': inner, a_start: {}, a_END: {}, '': {} } });
  const lines = mermaid(machine).split('\n');
  expect(lines.filter((line) => /\b\w+_(?:start|end)(?:$| -->| \{)/.test(line))).toEqual([]);
  expect(lines).toContain('  state "a_start" as a_start_');
  expect(lines).toContain('    s_a_b_end_ --> [*]');
  expect(lines).toContain('  state " " as s__2');
  expect(lines.join()).not.toContain('a_END_');
});

test.each([
  [and(['planned', or(['isLate', not('answered')])]), 'planned and (is late or not answered)'],
  [not(and(['planned', 'isLate'])), 'not (planned and is late)'],
  [or([and(['planned', 'isLate']), 'answered']), '(planned and is late) or answered'],
  [not('stepsLeftInPlan'), 'no plan steps left'],
  [not('attemptsLeft'), 'no attempts left'],
  [not('hasSession'), 'has no session'],
  [not('mayRunAgain'), 'may not run again'],
  [not('canSignIn'), 'cannot sign in'],
  [not('answered'), 'not answered'],
  [and([not('isLate'), 'planned']), 'is not late and planned'],
  [or(['planned', not('attemptsLeft')]), 'planned or no attempts left'],
  ['notedTwice', 'noted twice'],
  ['stepsLeftInPlan', 'steps left in plan'],
  ['llmFailed', 'LLM failed'],
])('a guard is labelled as English says it: %#', (guard, label) => {
  const machine = createMachine({ initial: 'A', states: { A: { always: { guard, target: 'B' } }, B: {} } });
  expect(mermaid(machine).split('\n')).toContain(`  A --> B : [${label}]`);
});

test.each([...OWN_MACHINES.keys()])('%s is drawn with the few forms that Mermaid reads everywhere', (name) => {
  const machine = OWN_MACHINES.get(name);
  const lines = machine === undefined ? [] : mermaid(machine).split('\n');
  const state = String.raw`(?:\w+|\[\*\])`;
  const label = String.raw`(?:[\w.-]+(?: [\w.-]+)*)?(?: ?\[[\w. -]+\])?(?: ?/ [\w., -]+)?`;
  const text = `${label}(?:<br/>${label})*`;
  const arrow = `${state} --> ${state}(?: : ${text})?`;
  const forms = new RegExp(
    `^(?:stateDiagram-v2|\\s+(?:${arrow}|state (?:"\\w+" as )?\\w+(?: \\{)?|\\}|note right of \\w+ : ${text}))$`,
  );
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.filter((line) => !forms.test(line))).toEqual([]);
});
