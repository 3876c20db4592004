import { type AnyStateMachine, createMachine } from 'xstate';
import { expect, test } from 'vitest';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { drawMachine } from '../../../src/inspector/frames/drawing.ts';
import type { Frame } from '../../../src/inspector/frames/protocol.ts';
import { acceptedEvents } from '../../../src/inspector/page/model/forms/known-forms.ts';
import { actorsAt, innermost } from '../../../src/inspector/page/model/actor-state.ts';
import { costsOf, exchangesOf } from '../../../src/inspector/page/model/talk.ts';
import { jsonDiff } from '../../../src/inspector/page/model/compare/json-diff.ts';
import { placeLifelines, messagesOf } from '../../../src/inspector/page/model/sequence.ts';
import { PageModel } from '../../../src/inspector/page/model/page-model.ts';
import { search, stepOfLine } from '../../../src/inspector/page/model/search.ts';
import { sharedLines } from '../../../src/inspector/page/model/timeline.ts';
import { toneAfter, toneOf } from '../../../src/inspector/page/model/tone.ts';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { toolCallMachine } from '../../../src/machines/tool-call/tool-call.ts';
import { readRecording } from '../../../src/journal/format/recording.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { calls } from '../../support/replies.ts';
import { framesOf } from '../frames-of.ts';
import { framesOfScene, modelOf, sessionFrame, sessionOf, step } from './fixture.ts';

test('a difference says where, what was, and what is', () => {
  expect(jsonDiff({ a: 1, b: [1, 2], c: 'x' }, { a: 1, b: [1, 3, 4], 'd e': null })).toEqual([
    { kind: 'changed', path: 'b[1]', before: 2, after: 3 },
    { kind: 'added', path: 'b[2]', after: 4 },
    { kind: 'removed', path: 'c', before: 'x' },
    { kind: 'added', path: '["d e"]', after: null },
  ]);
});

test('equal values differ in nothing, and a rewritten list costs no more than is shown', () => {
  const list = Array.from({ length: 5000 }, (_, index) => index);

  expect(jsonDiff({ list }, { list: [...list] })).toEqual([]);
  expect(jsonDiff({ list }, { list: list.map((one) => one + 1) }, 50)).toHaveLength(50);
});

test('a list in which something was put in the middle differs in that alone', () => {
  expect(jsonDiff({ list: [1, { a: 1 }, 3, 4] }, { list: [1, { a: 1 }, 2, 3, 4] })).toEqual([
    { kind: 'added', path: 'list[2]', after: 2 },
  ]);
  expect(jsonDiff([{ n: 1 }, { n: 2 }, { n: 3 }], [{ n: 2 }, { n: 3, x: 1 }])).toEqual([
    { kind: 'removed', path: '[0]', before: { n: 1 } },
    { kind: 'added', path: '[1].x', after: 1 },
  ]);
});

test('a key named like something of every object is a difference like any other', () => {
  expect(jsonDiff({}, { constructor: 1 })).toEqual([{ kind: 'added', path: 'constructor', after: 1 }]);
});

test('the sequence diagram shows who started whom and who told whom what', () => {
  const told = messagesOf(sessionOf('parallel')).map(({ from, to, label }) => `${from} > ${to}: ${label}`);

  expect(told).toContain('agent > agent/llmCall: start');
  expect(told).toContain('agent/llmCall > agent: model.replied');
  expect(told).toContain('agent > agent/c1: start');
  expect(told).toContain('agent/c1/callTool > agent/c1: callTool.done');
});

test('calls that live side by side have a lifeline each', () => {
  const session = sessionOf('parallel');
  const lines = placeLifelines(session);
  const born = session.actors.get('agent/c1')?.lives[0]?.from ?? 0;

  expect(lines.names.filter((name) => name === 'get_weather')).toHaveLength(2);
  expect(lines.columnOf('agent/c1', born)).not.toBe(lines.columnOf('agent/c2', born));
});

test('search finds arguments, results and states, and says where', () => {
  const session = sessionOf('parallel');

  expect(search(session, 'oslo').map(({ where }) => where)).toContain('tool.finished');
  expect(search(session, 'SUCCEEDED').map(({ where }) => where)).toContain('step');
  expect(search(session, '   ')).toEqual([]);
  const places = search(session, 'oslo').map(({ position }) => position);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

test('of places without end the first are found, in the order of the run, whatever they are in', async () => {
  const turns = Array.from({ length: 90 }, (_, n) => calls(['look', { n: `needle ${n}` }]));
  const model = scriptedModel([...turns, 'Done.']);
  const run = createAgent({ model, tools: [fakeTool('look')], maxSteps: 100, silent: true }).run('Look');
  await run;
  const { session } = modelOf(framesOf(readRecording(run.recording()), { id: 'run', version: '' }));
  const hits = search(session, 'needle');
  const places = hits.map(({ position }) => position);
  expect(places).toHaveLength(200);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(places.at(-1)).toBeLessThan(session.steps.length / 2);
  expect(hits.map(({ where }) => where)).toEqual(expect.arrayContaining(['tool.started', 'reply callLlm']));
  expect(search(session, 'needle 89').at(-1)?.position).toBeGreaterThan(session.steps.length - 30);
});

test('raw requests are written out in full, with what came back', () => {
  const asked = exchangesOf(sessionOf('parallel').records).filter(({ name }) => name === 'callLlm');

  expect(asked).toHaveLength(2);
  expect(JSON.stringify(asked[1]?.request())).toContain('Where is it warmer');
  expect(JSON.stringify(asked[1]?.outcome)).toContain('In Austin: 31 degrees');
});

test('costs are those of each turn, and of all', () => {
  const { turns, total } = costsOf(sessionOf('plan-recovery').talk);

  expect(turns).toHaveLength(3);
  expect(total.durationMs).toBe(turns.reduce((sum, { durationMs }) => sum + durationMs, 0));
});

test('only events that the machine accepts in its present states are offered', () => {
  const { model, session } = modelOf(framesOfScene('approval'));
  const actor = actorsAt(session, session.steps.length - 1).find(({ path }) => path === 'agent/c1');
  const drawing = model.drawings.get(actor?.track.info.drawing ?? '');
  const events = drawing === undefined || actor === undefined ? [] : acceptedEvents(drawing, actor.active);

  expect(events).toContain('approval.given');
  expect(events.filter((name) => name.startsWith('xstate.'))).toEqual([]);
});

test('of active states the innermost are told', () => {
  expect(innermost(['A', 'A.B', 'C'])).toEqual(['A.B', 'C']);
});

test('the states of our machines have the tone that they should, whatever is around them', () => {
  const tones = (machine: AnyStateMachine, paths: readonly string[]) =>
    paths.map((path) => toneOf(drawMachine(machine), path));

  expect(tones(agentMachine, ['PLANNING.ASKING', 'PLANNING', 'ERROR_RECOVERY.ASSESSING'])).toEqual([
    'model',
    'go',
    'caution',
  ]);
  expect(
    tones(toolCallMachine, ['RUNNING', 'AWAITING_APPROVAL.ASKING', 'RECOVERING.BACKING_OFF', 'SUCCEEDED']),
  ).toEqual(['tool', 'wait', 'pause', 'done']);
});

test('the tone of a state of somebody else is what it says of itself, never guessed from its name', () => {
  const states = { NOT_READY: {}, FAILED: { type: 'final' }, BROKEN: { meta: { tone: 'danger' } } } as const;
  const drawing = drawMachine(createMachine({ id: 'toolCall', initial: 'NOT_READY', states }));

  expect(['NOT_READY', 'FAILED', 'BROKEN'].map((path) => toneOf(drawing, path))).toEqual(['go', 'end', 'danger']);
});

test('a run that failed ends in another tone than one that answered', () => {
  const drawing = drawMachine(agentMachine);
  const ended = (scene: string) => sessionOf(scene).steps.findLast(({ to }) => to.includes('COMPLETION')) ?? null;

  expect(toneAfter(drawing, ended('plain'))).toBe('done');
  expect(toneAfter(drawing, ended('loop'))).not.toBe('done');
});

test('a search in a run that grows finds what one in the whole run does', () => {
  const frames = framesOfScene('parallel');
  const model = new PageModel();
  for (const frame of frames) {
    model.add(frame);
    const [growing] = model.sessions.values();
    if (growing !== undefined) search(growing, 'oslo');
  }
  const [grown] = model.sessions.values();
  if (grown === undefined) throw new Error('There is no session.');
  expect(search(grown, 'oslo').length).toBeGreaterThan(3);
  expect(search(grown, 'oslo')).toEqual(search(sessionOf('parallel'), 'oslo'));
  const replies = search(grown, 'oslo').filter(({ where }) => where.startsWith('reply'));
  const lines = [...grown.records.entries()].filter(
    ([, line]) => line?.t === 'outcome' && /oslo/i.test(JSON.stringify(line)),
  );
  expect(lines.length).toBeGreaterThan(0);
  expect(replies.map(({ position }) => position)).toEqual(lines.map(([line]) => stepOfLine(grown, line)));
  expect(search(grown, 'austin')).toEqual(search(sessionOf('parallel'), 'austin'));
});

test('each actor has the lifeline of the life that it has at a step, also where it lived often', () => {
  const session = sessionOf('plan-recovery');
  const lines = placeLifelines(session);
  const lives = [...session.actors.values()].filter(({ info }) => info.drawing !== null);
  const kinds = sharedLines(session);
  expect(lives.some((track) => track.lives.length > 1)).toBe(true);
  for (const track of lives)
    for (const life of track.lives) {
      const column = kinds.findIndex((kind) => kind.lives.some((one) => one.track === track && one.life === life));
      expect(lines.columnOf(track.info.path, life.from)).toBe(column);
    }
});

test('actors of two kinds that live under one path by turns stand in the column of their kind', () => {
  const actor = (name: string, at: number): Frame => ({
    t: 'actor',
    session: 'run',
    actor: { path: 'agent/step', parent: 'agent', src: 'toolCall', name, drawing: 'd' },
    step: at,
  });
  const names = ['look', 'pay', 'look'];
  const frames = names.flatMap((name, n): readonly Frame[] => [
    actor(name, n),
    { t: 'step', session: 'run', step: step(2 * n + 1, 'RUNNING', { actor: 'agent/step' }) },
    { t: 'step', session: 'run', step: step(2 * n + 2, 'DONE', { actor: 'agent/step' }) },
    { t: 'actor-gone', session: 'run', path: 'agent/step', step: n },
  ]);
  const lines = placeLifelines(modelOf([sessionFrame(), ...frames]).session);
  expect(lines.names).toEqual(['look', 'pay']);
  expect([0, 2, 4].map((position) => lines.columnOf('agent/step', position))).toEqual([0, 1, 0]);
});
